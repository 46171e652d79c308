package mutants;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
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

    /** Inlines the mutant's advice into its target classes; returns the places in words. */
    private static String plant(Class<?> mutant, Instrumentation jvm) throws Exception {
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        ClassFileLocator files = ClassFileLocator.ForClassLoader.of(loader);
        Planting planting = new Planting();
        List<String> places = new ArrayList<>();
        for (Class<?> advice : advice(mutant)) {
            In in = advice.getAnnotation(In.class);
            TypeDescription type = described(in, files);
            if (type.getDeclaredMethods().filter(ElementMatchers.named(in.method())).isEmpty()) {
                throw new Refused("There is no method " + in.method() + " in " + type.getName() + ": " + UNFIT);
            }
            planting.add(type.getName(), advice);
            places.add(type.getName() + "#" + in.method() + " of " + source(type.getName(), loader));
        }
        retransform(planting, jvm, loader);
        return String.join(", ", places);
    }

    private static void retransform(Planting planting, Instrumentation jvm, ClassLoader loader) throws Exception {
        jvm.addTransformer(planting, true);
        for (String type : planting.types()) {
            jvm.retransformClasses(Class.forName(type, false, loader));
        }
        if (planting.trouble() != null) {
            throw new IllegalStateException(planting.trouble());
        }
    }

    /** The mutant itself, or its nested classes, in the order of their names. */
    private static List<Class<?>> advice(Class<?> mutant) {
        if (mutant.isAnnotationPresent(In.class)) {
            return List.of(mutant);
        }
        return Arrays.stream(mutant.getDeclaredClasses())
                .filter(nested -> nested.isAnnotationPresent(In.class))
                .sorted(Comparator.comparing(Class::getName))
                .collect(Collectors.toList());
    }

    private static URL source(String type, ClassLoader loader) throws ClassNotFoundException {
        return Class.forName(type, false, loader).getProtectionDomain().getCodeSource().getLocation();
    }

    private static TypeDescription described(In in, ClassFileLocator files) {
        TypePool pool = TypePool.Default.of(files);
        return Arrays.stream(in.type())
                .map(pool::describe)
                .filter(TypePool.Resolution::isResolved)
                .findFirst()
                .orElseThrow(() -> new Refused("There is no class " + String.join(" or ", in.type())
                        + " on the class path: " + UNFIT + ", or this JVM runs something else. Class path: "
                        + System.getProperty("java.class.path")))
                .resolve();
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
                    .filter(entry -> entry.startsWith(PLANTED) && entry.endsWith(".class") && !entry.contains("$"))
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
