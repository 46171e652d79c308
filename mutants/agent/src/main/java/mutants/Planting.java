package mutants;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/**
 * Inlines the advice of one mutant into the classes it is for. It works on the bytes that it is handed, so what another
 * agent, or another mutant, made of a class stays.
 */
final class Planting implements ClassFileTransformer {
    private final Map<String, List<Class<?>>> adviceByType = new LinkedHashMap<>();
    private Throwable trouble;

    void add(String type, Class<?> advice) {
        adviceByType.computeIfAbsent(type, none -> new ArrayList<>()).add(advice);
    }

    Set<String> types() {
        return adviceByType.keySet();
    }

    /** What went wrong, if anything: the JVM itself drops what a transformer throws, and leaves the class as it was. */
    Throwable trouble() {
        return trouble;
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String internalName, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        String type = internalName == null ? "" : internalName.replace('/', '.');
        List<Class<?>> advice = adviceByType.get(type);
        if (advice == null) {
            return null;
        }
        try {
            return mutated(type, advice, bytes, loader);
        } catch (Exception | LinkageError problem) {
            trouble = problem;
            return null;
        }
    }

    private static byte[] mutated(String type, List<Class<?>> advice, byte[] bytes, ClassLoader loader) {
        ClassFileLocator files = new ClassFileLocator.Compound(
                ClassFileLocator.Simple.of(type, bytes), ClassFileLocator.ForClassLoader.of(loader));
        TypeDescription described = TypePool.Default.of(files).describe(type).resolve();
        DynamicType.Builder<?> builder = new ByteBuddy().decorate(described, files);
        for (Class<?> each : advice) {
            String method = each.getAnnotation(In.class).method();
            builder = builder.visit(Advice.to(each).on(ElementMatchers.named(method)));
        }
        return builder.make().getBytes();
    }
}
