// Package jsontree edits JSON documents without knowing them: whatever an edit does not touch keeps its bytes, fields
// that are newer than any type of ours included.
//
// A tree opens lazily. Reading three members of an object costs a pass over that object, not nodes for all that is in
// it. A tree is not safe for concurrent use, not even for reading.
package jsontree
