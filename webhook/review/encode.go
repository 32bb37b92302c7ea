package review

import (
	"encoding/base64"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/webhook/admission"
)

// Append appends the AdmissionReview that answers a request to dst. An apiVersion that is not understood is answered
// as v1. A refusal or fault never carries a patch, and a verdict without changes none either.
func Append(dst []byte, apiVersion, uid string, resp admission.Response) []byte {
	if apiVersion != V1Beta1 {
		apiVersion = V1
	}
	dst = append(dst, `{"kind":"AdmissionReview","apiVersion":"`...)
	dst = append(dst, apiVersion...)
	dst = append(dst, `","response":{"uid":`...)
	dst = appendString(dst, uid)
	allowed := resp.Allowed && resp.Fault == 0
	if allowed {
		dst = append(dst, `,"allowed":true`...)
		dst = appendPatch(dst, resp.Patch)
	} else {
		dst = append(dst, `,"allowed":false`...)
		dst = appendStatus(dst, resp.Status)
		if resp.Fault == 0 {
			dst = appendDecision(dst, uid)
		}
	}
	dst = appendWarnings(dst, resp.Warnings)
	return append(dst, "}}\n"...)
}

// AppendPlain appends a Status as an object of its own to dst, which the API server's client takes for the answer's error.
func AppendPlain(dst []byte, status *metav1.Status) []byte {
	plain := *status
	plain.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	encoded, err := json.Marshal(plain)
	if err != nil { // a Status has nothing that cannot be encoded
		return dst
	}
	return append(append(dst, encoded...), '\n')
}

func appendPatch(dst []byte, patch jsontext.Value) []byte {
	if !Changes(patch) {
		return dst
	}
	dst = append(dst, `,"patchType":"JSONPatch","patch":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, patch)
	return append(dst, '"')
}

// appendDecision names a denial in the API server's audit log, which else does not have the uid of the review, by what our
// own log calls it.
func appendDecision(dst []byte, uid string) []byte {
	dst = append(dst, `,"auditAnnotations":{"decision-id":`...)
	dst = appendString(dst, uid)
	return append(dst, '}')
}

// Changes says whether a patch has any operation.
func Changes(patch jsontext.Value) bool {
	return len(patch) > 0 && string(patch) != "[]"
}

func appendStatus(dst []byte, status *metav1.Status) []byte {
	if status == nil {
		return dst
	}
	encoded, err := json.Marshal(status)
	if err != nil { // a Status has nothing that cannot be encoded
		return dst
	}
	dst = append(dst, `,"status":`...)
	return append(dst, encoded...)
}

func appendWarnings(dst []byte, warnings []string) []byte {
	if len(warnings) == 0 {
		return dst
	}
	dst = append(dst, `,"warnings":[`...)
	for i, warning := range presentable(warnings) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, warning)
	}
	return append(dst, ']')
}

// appendString quotes s. Its error only says that invalid UTF-8 became U+FFFD, which is what JSON can carry.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
