// Package golden runs admission cases kept as files: a review is posted over HTTP to the real handlers, and the Pod that
// the patch makes is compared with the one that a person wrote down. Numbers are compared as written, since a float
// would hide the loss of an integer beyond 2^53.
//
// A case is a folder:
//
//	review.json    the AdmissionReview to post
//	objects/*.yaml what the service knows (optional)
//	want.yaml      the answer, see Want
//	rules          the rules that the case covers, one identifier a line
package golden
