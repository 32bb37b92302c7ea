// Package conversion tests on a real API server what only one can answer about conversion: what it stores, serves and
// watches, what becomes of objects that are stored in an old version, and what works when the service is away.
package conversion
