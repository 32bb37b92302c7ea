package artifact

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 999, time.UTC)

// listTar renders the entries of a tar archive.
func listTar(t *testing.T, r io.Reader) []string {
	t.Helper()
	var got []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s belongs to %d:%d %s, want nobody in particular", h.Name, h.Uid, h.Gid, h.Uname)
		}
		got = append(got, fmt.Sprintf("%c %04o %s %s %s%s", h.Typeflag, h.Mode, h.ModTime.UTC().Format(time.DateTime), h.Name, body, h.Linkname))
	}
}

func gunzip(t *testing.T, data []byte) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTarGz(t *testing.T) {
	entries := []Entry{{Name: "b", Link: "a"}, {Name: "a", Mode: 0o755, Content: []byte("x")}, {Name: "empty", Mode: 0o644}}
	pack := func(entries []Entry) []byte {
		var out bytes.Buffer
		if err := TarGz(&out, noon, entries); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	first := pack(entries)
	want := []string{"0 0755 2026-01-02 12:00:00 a x", "2 0777 2026-01-02 12:00:00 b a", "0 0644 2026-01-02 12:00:00 empty "}
	if diff := cmp.Diff(want, listTar(t, gunzip(t, first))); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(entries)
	if !bytes.Equal(first, pack(entries)) {
		t.Error("another order of the entries gives other bytes")
	}
}

func TestZip(t *testing.T) {
	var out bytes.Buffer
	if err := Zip(&out, noon, []Entry{{Name: "b", Mode: 0o644, Content: []byte("y")}, {Name: "a.exe", Mode: 0o755, Content: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.File {
		file, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%04o %s %s %s", f.Mode().Perm(), f.Modified.UTC().Format(time.DateTime), f.Name, body))
	}
	if diff := cmp.Diff([]string{"0755 2026-01-02 12:00:00 a.exe x", "0644 2026-01-02 12:00:00 b y"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestArchivesRefuse(t *testing.T) {
	twice := []Entry{{Name: "a"}, {Name: "b"}, {Name: "a"}}
	for name, tt := range map[string]struct {
		pack    func(io.Writer, time.Time, []Entry) error
		entries []Entry
		want    string
	}{
		"two of a name in a tar":   {Tar, twice, "packing a: there are two of it"},
		"two of a name in a gz":    {TarGz, twice, "packing a: there are two of it"},
		"two of a name in a zip":   {Zip, twice, "packing a: there are two of it"},
		"a link in a zip":          {Zip, []Entry{{Name: "a", Link: "b"}}, "no links"},
		"a name that tar has not ": {Tar, []Entry{{Name: "a\x00b"}}, "packing a"},
	} {
		if err := tt.pack(io.Discard, noon, tt.entries); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}
