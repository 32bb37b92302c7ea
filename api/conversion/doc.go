// Package conversion converts objects of our kinds between v1alpha1 and v1beta1, as raw JSON: what it does not know, such
// as a field of a pod template that is newer than any type of ours, passes byte for byte.
//
// Each kind has a file that says how the two versions spell the same thing. What the other version cannot spell is kept
// in an annotation of the converted object and put back when it is converted back, so that a client of either version
// may read, change and write an object without erasing what it cannot see. Nobody has to say what that is: a conversion
// converts its result back, and keeps the difference to what it was given. A client's change to what it does see wins
// over what was kept (see record).
package conversion
