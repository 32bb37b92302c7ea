// Package conversion answers the API server's ConversionReviews at Path. It waits for no cache: objects that are stored
// in an old version could otherwise not be read by the very replica that has to become ready.
package conversion
