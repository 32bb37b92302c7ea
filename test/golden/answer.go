package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
)

// Answer is what came back for a review.
type Answer struct {
	HTTPStatus int
	APIVersion string
	Kind       string
	UID        string
	Allowed    bool
	PatchType  string
	Status     struct {
		Code    int
		Message string
	}
	Warnings []string
	// PatchBytes is the patch as it came, nil if there is none.
	PatchBytes []byte
	Ops        []Op
}

// Post sends a review to a path of a handler over HTTP.
func Post(t T, handler http.Handler, path string, review []byte) Answer {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	response, err := server.Client().Post(server.URL+path, "application/json", bytes.NewReader(review))
	if err != nil {
		t.Fatalf("posting the review: %v", err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	return parseAnswer(t, response.StatusCode, body)
}

func parseAnswer(t T, status int, body []byte) Answer {
	t.Helper()
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Response   struct {
			UID       string   `json:"uid"`
			Allowed   bool     `json:"allowed"`
			PatchType string   `json:"patchType"`
			Patch     []byte   `json:"patch"`
			Warnings  []string `json:"warnings"`
			Status    struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"status"`
		} `json:"response"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		t.Fatalf("the answer, HTTP %d, is no review: %v\n%.500s", status, err, body)
	}
	r := review.Response
	answer := Answer{
		HTTPStatus: status, APIVersion: review.APIVersion, Kind: review.Kind, UID: r.UID, Allowed: r.Allowed,
		PatchType: r.PatchType, Warnings: r.Warnings, PatchBytes: r.Patch, Ops: Patch(t, r.Patch),
	}
	answer.Status.Code, answer.Status.Message = r.Status.Code, r.Status.Message
	return answer
}

// Patched is the object that the answer makes of the review's object.
func (a Answer) Patched(t T, review []byte) any {
	t.Helper()
	patched, err := Apply(Object(t, review), a.Ops)
	if err != nil {
		t.Fatalf("applying the patch: %v\n%s", err, a.PatchBytes)
	}
	return patched
}

// Object is the object of a review.
func Object(t T, review []byte) any {
	t.Helper()
	return At(Decode(t, review), "request", "object")
}
