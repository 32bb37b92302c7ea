package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"github.com/fairlead-io/fairlead/webhook/admission"
	"github.com/fairlead-io/fairlead/webhook/review"
)

func writeJSON(w http.ResponseWriter, code int, body []byte) {
	write(w, code, "application/json", body)
}

func writeText(w http.ResponseWriter, code int, body string) {
	write(w, code, "text/plain; charset=utf-8", []byte(body))
}

func write(w http.ResponseWriter, code int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone is no concern of ours
}

// notFound answers a path that is not served. A wrong path in a webhook configuration is the usual cause, so the
// answer is a review like any other.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, http.StatusNotFound, "no webhook is served at "+r.URL.Path+", GET /webhooks lists their paths")
}

func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", http.MethodGet)
	s.refuse(w, http.StatusMethodNotAllowed, "method "+r.Method+" is not served at "+r.URL.Path)
}

func (s *Server) refuse(w http.ResponseWriter, code int, message string) {
	writeJSON(w, code, review.Append(nil, review.V1, "", admission.Faulted(code, message)))
}

// listWebhooks lists the webhooks that this replica serves as a JSON object, their paths by their names. The registration
// reads it from every replica: an entry is applied, and led to another path, only when all of them serve it there.
func (s *Server) listWebhooks(w http.ResponseWriter, _ *http.Request) {
	paths := map[string]string{}
	for _, route := range s.routes {
		if route.Retired {
			continue
		}
		if route.Serving != nil {
			maps.Copy(paths, route.Serving())
			continue
		}
		for _, name := range route.Webhooks {
			paths[name] = route.Path
		}
	}
	body, err := json.Marshal(paths)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, append(body, '\n'))
}
