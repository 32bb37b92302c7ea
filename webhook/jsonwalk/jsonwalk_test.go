package jsonwalk

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = ` { "name" : "caf\u00e9", "n\u0061me2":"x", "list":[1 , {"a":null}, 9007199254740993 ],"yes":true,
	"no":false, "nothing":null, "map":{"k":"v","n":null}, "":"empty name", "skipped":{"deep":[{"er":[]}]} } `

func TestObjectGivesEveryMember(t *testing.T) {
	got := map[string]any{}
	err := Walk([]byte(document), func(w *Walker) error {
		return w.Object(func(name string) (err error) {
			switch name {
			case "name", "name2", "":
				got[name], err = w.String()
			case "yes", "no":
				got[name], err = w.Bool()
			case "map":
				got[name], err = w.Strings()
			case "list":
				var list []string
				err = w.Array(func() error {
					value, err := w.Value()
					list = append(list, string(value))
					return err
				})
				got[name] = list
			case "nothing":
				got[name] = w.Kind().String()
			}
			return err
		})
	})
	want := map[string]any{
		"name": "café", "name2": "x", "": "empty name", "yes": true, "no": false, "nothing": "null",
		"map": map[string]string{"k": "v", "n": ""}, "list": []string{"1", `{"a":null}`, "9007199254740993"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}

func TestNullIsNothing(t *testing.T) {
	for what, read := range map[string]func(w *Walker) (any, error){
		"Object": func(w *Walker) (any, error) {
			return nil, w.Object(func(string) error { return errors.New("a member") })
		},
		"Array":   func(w *Walker) (any, error) { return nil, w.Array(func() error { return errors.New("an element") }) },
		"Value":   func(w *Walker) (any, error) { v, err := w.Value(); return len(v), err },
		"String":  func(w *Walker) (any, error) { return w.String() },
		"Bool":    func(w *Walker) (any, error) { return w.Bool() },
		"Strings": func(w *Walker) (any, error) { m, err := w.Strings(); return len(m), err },
		"Skip":    func(w *Walker) (any, error) { return nil, w.Skip() },
	} {
		err := Walk([]byte(" null "), func(w *Walker) error {
			got, err := read(w)
			if got != nil && got != 0 && got != "" && got != false {
				t.Errorf("%s of null is %v", what, got)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s of null: %v", what, err)
		}
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	at := func(read func(w *Walker) error) func(w *Walker) error {
		return func(w *Walker) error {
			return w.Object(func(string) error { return w.Array(func() error { return read(w) }) })
		}
	}
	toString := func(w *Walker) error { _, err := w.String(); return err }
	for name, test := range map[string]struct {
		src  string
		read func(w *Walker) error
		want []string
	}{
		"string":     {`{"a":["x",7]}`, at(toString), []string{"/a/1", "a string", "number"}},
		"bool":       {`{"a":["x"]}`, at(func(w *Walker) error { _, err := w.Bool(); return err }), []string{"/a/0", "a boolean", "string"}},
		"object":     {`{"a":[[]]}`, at(func(w *Walker) error { return w.Object(nil) }), []string{"/a/0", "{", "["}},
		"array":      {`{"a":[{}]}`, at(func(w *Walker) error { return w.Array(nil) }), []string{"/a/0", "[", "{"}},
		"map":        {`{"a":[{"k":1}]}`, at(func(w *Walker) error { _, err := w.Strings(); return err }), []string{"/a/0/k", "a string"}},
		"trailing":   {`{} {}`, func(w *Walker) error { return w.Skip() }, []string{"past the document", "byte 4"}},
		"nothing":    {``, func(w *Walker) error { return w.Skip() }, []string{"EOF"}},
		"cut":        {`{"a":[1,`, at(func(w *Walker) error { return w.Skip() }), []string{"EOF"}},
		"bad":        {`{"a":[1 2]}`, at(func(w *Walker) error { return w.Skip() }), []string{"/a"}},
		"from below": {`{"a":[1]}`, at(func(*Walker) error { return errors.New("enough") }), []string{"enough"}},
	} {
		err := Walk([]byte(test.src), test.read)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, word := range test.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: error %q does not say %q", name, err, word)
			}
		}
	}
}

// What a caller leaves alone is skipped, whatever it is.
func TestUnreadValuesAreSkipped(t *testing.T) {
	var seen []string
	err := Walk([]byte(document), func(w *Walker) error {
		return w.Object(func(name string) error { seen = append(seen, strings.Clone(name)); return nil })
	})
	want := []string{"name", "name2", "list", "yes", "no", "nothing", "map", "", "skipped"}
	if diff := cmp.Diff(want, seen); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}

func TestSinceIsTheValueJustRead(t *testing.T) {
	for _, src := range []string{`[ {"a" : 1} ,"x",  [] ,null, true,7 ]`, `[{"a" : 1},"x",[],null,true,7]`} {
		var got []string
		err := Walk([]byte(src), func(w *Walker) error {
			return w.Array(func() error {
				start := w.Offset()
				err := w.Skip()
				got = append(got, string(w.Since(start)))
				return err
			})
		})
		want := []string{`{"a" : 1}`, `"x"`, `[]`, `null`, `true`, `7`}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, (-want +got):\n%s", src, err, diff)
		}
	}
}

// What is kept of a document cannot be appended into it.
func TestValuesDoNotReachIntoTheDocument(t *testing.T) {
	src := []byte(`["a","b"]`)
	err := Walk(src, func(w *Walker) error {
		return w.Array(func() error {
			start := w.Offset()
			value, err := w.Value()
			_, _ = append(value, '#'), append(w.Since(start), '#')
			return err
		})
	})
	if err != nil || string(src) != `["a","b"]` {
		t.Errorf("error %v, the document is %s", err, src)
	}
}

// Walkers are reused: one that failed, or panicked, must not spoil the next; and a walk may start another.
func TestWalkersAreIndependent(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				_ = Walk([]byte(`{"a":[1`), func(w *Walker) error { return w.Skip() })
				func() {
					defer func() { _ = recover() }()
					_ = Walk([]byte(`[[1],2]`), func(w *Walker) error { return w.Array(func() error { panic("in the middle") }) })
				}()
				outer := 0
				err := Walk([]byte(`[1,2,3]`), func(w *Walker) error {
					return w.Array(func() error {
						outer++
						return Walk([]byte(`{"x":"y"}`), func(w *Walker) error { _, err := w.Strings(); return err })
					})
				})
				if err != nil || outer != 3 {
					t.Errorf("error %v after %d elements", err, outer)
				}
			}
		})
	}
	all.Wait()
}
