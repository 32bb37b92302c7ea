package certs

import (
	"crypto/x509"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStateSurvivesTheSecret(t *testing.T) {
	c, d, e := caEnding(t, start.Add(3*year)), caEnding(t, start.Add(4*year)), caEnding(t, start.Add(5*year))
	s := state{
		current: c, next: d, promoteAfter: start.Add(time.Hour),
		previous: []*x509.Certificate{e.cert, d.cert}, dropAfter: start.Add(2 * time.Hour),
	}
	data, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data["next-ca-promote-after"]); got != "2026-03-01T13:00:00Z" {
		t.Errorf("promotion is written as %q", got)
	}
	again, complaints := decode(data)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	twice, err := again.encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(data, twice); diff != "" {
		t.Errorf("read and written again:\n%s", diff)
	}
	if !again.current.equal(c) || !again.next.equal(d) || len(again.previous) != 2 {
		t.Errorf("lost a CA: %+v", again)
	}
}

func TestDecodeKeepsWhatIsUsable(t *testing.T) {
	c, d := caEnding(t, start.Add(3*year)), caEnding(t, start.Add(4*year))
	whole, err := state{current: c, next: d, promoteAfter: start, previous: []*x509.Certificate{d.cert}, dropAfter: start}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		key                           string
		value                         []byte
		wantCurrent, wantNext, wantPr bool
		complaint                     string
	}{
		"current certificate is rubbish": {"ca-cert.pem", []byte("rubbish"), false, true, true, "reading key ca-cert.pem of the Secret: parsing the certificate"},
		"current key is gone":            {"ca-key.pem", nil, false, true, true, "reading key ca-cert.pem of the Secret: parsing the key"},
		"current key is another's":       {"ca-key.pem", d.keyPEM, false, true, true, "it belongs to another one"},
		"next certificate is rubbish":    {"next-ca-cert.pem", []byte("rubbish"), true, false, true, "reading key next-ca-cert.pem of the Secret"},
		"next key is gone":               {"next-ca-key.pem", nil, true, false, true, "reading key next-ca-cert.pem of the Secret"},
		"next time is rubbish":           {"next-ca-promote-after", []byte("soon"), true, true, true, "reading key next-ca-promote-after of the Secret"},
		"previous is rubbish":            {"previous-ca-cert.pem", []byte("rubbish"), true, true, false, "reading key previous-ca-cert.pem of the Secret"},
		"previous time is gone":          {"previous-ca-drop-after", nil, true, true, true, "reading key previous-ca-drop-after of the Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			data := maps.Clone(whole)
			data[tc.key] = tc.value
			got, complaints := decode(data)
			if (got.current != nil) != tc.wantCurrent || (got.next != nil) != tc.wantNext || (len(got.previous) > 0) != tc.wantPr {
				t.Errorf("current %v, next %v, previous %v", got.current != nil, got.next != nil, len(got.previous))
			}
			if len(complaints) != 1 || !strings.Contains(complaints[0].Error(), tc.complaint) {
				t.Errorf("complaints %v, want one with %q", complaints, tc.complaint)
			}
		})
	}
}

// Helm creates the Secret without data; that is no damage.
func TestDecodeOfAnEmptySecret(t *testing.T) {
	if got, complaints := decode(nil); got.current != nil || len(complaints) > 0 {
		t.Errorf("got %+v, %v", got, complaints)
	}
}

func TestDecodeTakesTheCAOfOpenKruiseAsItIs(t *testing.T) {
	certPEM, keyPEM := openKruiseCA(t, start.Add(5*year))
	data := map[string][]byte{
		"ca-cert.pem": certPEM, "ca-key.pem": keyPEM,
		"key.pem": []byte("k"), "cert.pem": []byte("c"), "tls.key": []byte("k"), "tls.crt": []byte("c"),
	}
	s, complaints := decode(data)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	planned, err := plan(s, state{}, true, start, newCA)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := planned.encode()
	if err != nil {
		t.Fatal(err)
	}
	merged, changed := merge(data, ours)
	if diff := cmp.Diff(data, merged); changed || diff != "" {
		t.Errorf("a CA with five years left is written anew:\n%s", diff)
	}
	served, err := signLeaf(planned.current, []string{"localhost"}, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := accepts(t, certPEM, served, "localhost", start); err != nil {
		t.Errorf("a leaf signed with it: %v", err)
	}
}

func TestMergeLeavesOthersKeysAlone(t *testing.T) {
	data := map[string][]byte{"tls.crt": []byte("theirs"), "next-ca-cert.pem": []byte("old"), "ca-cert.pem": []byte("1")}
	merged, changed := merge(data, map[string][]byte{"ca-cert.pem": []byte("1"), "ca-key.pem": []byte("2")})
	want := map[string][]byte{"tls.crt": []byte("theirs"), "ca-cert.pem": []byte("1"), "ca-key.pem": []byte("2")}
	if diff := cmp.Diff(want, merged); diff != "" || !changed {
		t.Errorf("changed %v:\n%s", changed, diff)
	}
	if string(data["next-ca-cert.pem"]) != "old" {
		t.Error("the data given was changed")
	}
}
