package mutants;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Where a mutant is planted: every method of that name in that class gets the mutant's advice. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface In {
    /** Full name of a class of Kafka. */
    String type();

    /** Name of a method that this class itself declares. */
    String method();
}
