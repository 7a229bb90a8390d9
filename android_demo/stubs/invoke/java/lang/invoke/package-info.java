/** What javac looks up to compile a lambda. Android's class library of API 23 lacks it; Android's build needs none of it. */
package java.lang.invoke;
