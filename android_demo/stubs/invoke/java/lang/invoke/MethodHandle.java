package java.lang.invoke;

public abstract class MethodHandle {}
