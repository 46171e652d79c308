package mutants;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.method.MethodList;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/**
 * Plants the one mutant that its argument names, before the JVM's main class runs, and says so in a line on stderr.
 * A JVM that can't be given the mutant does not start: a broker that looks mutated but is not would prove nothing.
 */
public final class Agent {
    private static final String PLANTED = "mutants.planted.";
    private static final String UNFIT = "this mutant does not fit this version of Kafka";

    private Agent() {}

    public static void premain(String name, Instrumentation jvm) {
        try {
            Class<?> mutant = mutantNamed(name == null ? "" : name);
            System.err.println("Mutant " + name + " is installed in " + plant(mutant, jvm));
        } catch (Refused refused) {
            abort(refused);
        } catch (Exception | LinkageError trouble) {
            trouble.printStackTrace();
            abort(new Refused("Mutant " + name + " could not be installed: " + trouble));
        }
    }

    private static void abort(Refused refused) {
        System.err.println(refused.getMessage());
        System.exit(1);
    }

    /** Redefines the target class with the mutant's advice inlined; returns the place in words. */
    private static String plant(Class<?> mutant, Instrumentation jvm) throws Exception {
        In in = mutant.getAnnotation(In.class);
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        ClassFileLocator files = ClassFileLocator.ForClassLoader.of(loader);
        TypeDescription type = described(in.type(), files);
        MethodList<MethodDescription.InDefinedShape> methods =
                type.getDeclaredMethods().filter(ElementMatchers.named(in.method()));
        if (methods.isEmpty()) {
            throw new Refused("There is no method " + in.method() + " in " + in.type() + ": " + UNFIT);
        }
        byte[] mutated = new ByteBuddy()
                .decorate(type, files)
                .visit(Advice.to(mutant).on(ElementMatchers.anyOf(methods.toArray())))
                .make()
                .getBytes();
        Class<?> target = Class.forName(in.type(), false, loader);
        jvm.redefineClasses(new ClassDefinition(target, mutated));
        return in.type() + "#" + in.method() + " of " + target.getProtectionDomain().getCodeSource().getLocation();
    }

    private static TypeDescription described(String type, ClassFileLocator files) {
        TypePool.Resolution found = TypePool.Default.of(files).describe(type);
        if (!found.isResolved()) {
            throw new Refused("There is no class " + type + " on the class path: " + UNFIT
                    + ", or this JVM runs something else. Class path: " + System.getProperty("java.class.path"));
        }
        return found.resolve();
    }

    private static Class<?> mutantNamed(String name) throws IOException {
        List<String> known = names();
        if (!known.contains(name)) {
            throw new Refused("No mutant is named '" + name + "'. Write -javaagent:agent.jar=NAME with one of: "
                    + String.join(", ", known));
        }
        String simpleName = Arrays.stream(name.split("-"))
                .map(word -> word.substring(0, 1).toUpperCase() + word.substring(1))
                .collect(Collectors.joining());
        try {
            return Class.forName(PLANTED + simpleName);
        } catch (ClassNotFoundException gone) {
            throw new IllegalStateException(gone);
        }
    }

    /** unfenced-leader-epoch for mutants/planted/UnfencedLeaderEpoch.class in the agent's own jar. */
    private static List<String> names() throws IOException {
        File jar = new File(Agent.class.getProtectionDomain().getCodeSource().getLocation().getPath());
        try (JarFile content = new JarFile(jar)) {
            return content.stream()
                    .map(entry -> entry.getName().replace('/', '.'))
                    .filter(entry -> entry.startsWith(PLANTED) && entry.endsWith(".class"))
                    .map(entry -> entry.substring(PLANTED.length(), entry.length() - ".class".length()))
                    .map(entry -> entry.replaceAll("(?<=.)(?=[A-Z])", "-").toLowerCase())
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;

        Refused(String text) {
            super(text);
        }
    }
}
