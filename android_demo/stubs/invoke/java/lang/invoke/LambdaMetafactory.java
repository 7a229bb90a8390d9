package java.lang.invoke;

/** Class that javac needs to compile a lambda. Android's API 23 lacks it; Android's own build does not need it. */
public class LambdaMetafactory {
    public static CallSite metafactory(
            MethodHandles.Lookup caller,
            String name,
            MethodType factory,
            MethodType erased,
            MethodHandle implementation,
            MethodType checked) {
        return null;
    }
}

abstract class CallSite {}

abstract class MethodHandle {}

abstract class MethodType {}

class MethodHandles {
    public static final class Lookup {}
}
