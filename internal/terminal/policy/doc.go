// Package policy has the commands of `fairlead policy`: native prints what the API server enforces by itself, test runs the
// tests of users' policies with the engine that serves them, and check compiles policies and shows what they would register.
package policy
