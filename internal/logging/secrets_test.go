package logging_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/fairlead-io/fairlead/internal/logging"
)

// A Kubernetes client writes bodies at a verbosity of 8, and whole commands with their header at 10. Whatever verbosity is
// asked for, what is in a Secret or in the environment of a template is in no line, nor is the token.
func TestNoVerbosityShowsBodies(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			_, _ = io.Copy(w, r.Body)
			return
		}
		_, _ = w.Write([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"stringData":{"key":"sesame"},"data":{"key":"c2VzYW1l"}}`))
	}))
	defer api.Close()
	for _, verbosity := range []string{"0", "4", "7", "8", "9", "10", "100"} {
		var flags logging.Flags
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.Add(set)
		if err := set.Parse([]string{"--v=" + verbosity}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		log, err := flags.Install(&out)
		if err != nil {
			t.Fatal(err)
		}
		ctx := klog.NewContext(t.Context(), log)
		talk(ctx, t, api.URL)
		talk(t.Context(), t, api.URL) // its log is the global one
		klog.Flush()
		if strings.Contains(out.String(), "sesame") || strings.Contains(out.String(), "c2VzYW1l") {
			t.Errorf("--v=%s shows a secret:\n%s", verbosity, out.String())
		}
		if loud := strings.Contains(out.String(), "/api/v1/namespaces/n/secrets/s"); loud != (verbosity != "0" && verbosity != "4") {
			t.Errorf("--v=%s shows requests: %v", verbosity, loud)
		}
	}
}

func talk(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: url, BearerToken: "token-sesame", ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets("n").Get(ctx, "s", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	template := &corev1.PodTemplate{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "sesame"}},
	}}}}}
	if _, err := client.CoreV1().PodTemplates("n").Create(ctx, template, metav1.CreateOptions{DryRun: []string{"All"}}); err != nil {
		t.Fatal(err)
	}
}
