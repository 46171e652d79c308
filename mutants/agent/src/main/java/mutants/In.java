package mutants;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Where advice is planted: every method of that name in that class gets it. A mutant that acts in one place carries this
 * itself; one that acts in several has a nested class for each.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface In {
    /** Full names of a class of Kafka, since classes move: the first one on the class path is taken. */
    String[] type();

    /** Name of a method that this class itself declares. */
    String method();
}
