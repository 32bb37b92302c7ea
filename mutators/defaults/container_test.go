package defaults

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

func TestContainer(t *testing.T) {
	testRules(t, container, []ruleCase{
		{"nothing but a name", `{"name":"c","image":"a:1"}`, []string{
			`add /imagePullPolicy "IfNotPresent"`,
			`add /terminationMessagePath "/dev/termination-log"`,
			`add /terminationMessagePolicy "File"`,
		}},
		{"everything chosen",
			`{"imagePullPolicy":"Never","terminationMessagePath":"/x","terminationMessagePolicy":"FallbackToLogsOnError"}`, nil},
	})
	testRules(t, container, defaultedBut([]ruleCase{
		{"port", `"ports":[{"containerPort":1},{"protocol":"UDP"},{"protocol":""}]`,
			[]string{`add /ports/0/protocol "TCP"`, `add /ports/2/protocol "TCP"`}},
		{"env", `"env":[{"name":"A"},{"valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},
			{"valueFrom":{"fieldRef":{"apiVersion":"v2"}}},{"valueFrom":{"secretKeyRef":{"key":"k"}}},{"valueFrom":null}]`,
			[]string{`add /env/1/valueFrom/fieldRef/apiVersion "v1"`}},
		{"limits are no requests", `"resources":{"limits":{"cpu":"1"}}`, nil},
		{"no resources", `"resources":null`, nil},
		{"rounding", `"resources":{"limits":{"cpu":"1500u","memory":"1Ki"},"requests":{"memory":"1.0005","cpu":0.0001}}`, []string{
			`replace /resources/limits/cpu "2m"`,
			`replace /resources/requests/memory "1001m"`,
			`replace /resources/requests/cpu "1m"`,
		}},
		{"lifecycle", `"lifecycle":{"postStart":{"httpGet":{"port":80}},"preStop":{"httpGet":{"path":"","scheme":"HTTPS"}}}`, []string{
			`add /lifecycle/postStart/httpGet/path "/"`,
			`add /lifecycle/postStart/httpGet/scheme "HTTP"`,
			`add /lifecycle/preStop/httpGet/path "/"`,
		}},
		{"lifecycle without http", `"lifecycle":{"preStop":{"sleep":{"seconds":7}},"stopSignal":"SIGQUIT"}`, nil},
		{"kinds that do not fit", `"ports":{"protocol":""},"env":"x","resources":[],"livenessProbe":7,"lifecycle":true`, nil},
		{"elements that do not fit", `"ports":[7],"env":[{"valueFrom":[{"fieldRef":{}}]}],"resources":{"limits":[{"cpu":"1u"}]}`, nil},
	}))
}

func TestProbe(t *testing.T) {
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		testRules(t, container, defaultedBut([]ruleCase{
			{name, `"` + name + `":{"httpGet":{"port":80}}`, []string{
				`add /` + name + `/httpGet/path "/"`,
				`add /` + name + `/httpGet/scheme "HTTP"`,
				`add /` + name + `/timeoutSeconds 1`,
				`add /` + name + `/periodSeconds 10`,
				`add /` + name + `/successThreshold 1`,
				`add /` + name + `/failureThreshold 3`,
			}},
			{name + " zeros", `"` + name + `":{"exec":{},"timeoutSeconds":0,"periodSeconds":5,"successThreshold":0,"failureThreshold":1}`, []string{
				`add /` + name + `/timeoutSeconds 1`,
				`add /` + name + `/successThreshold 1`,
			}},
			{name + " grpc", `"` + name + `":{"grpc":{"port":9},"timeoutSeconds":1,"periodSeconds":1,"successThreshold":1,"failureThreshold":1}`, nil},
		}))
	}
}

// defaultedBut puts each case's members into a container that lacks nothing else.
func defaultedBut(cases []ruleCase) []ruleCase {
	for i, c := range cases {
		cases[i].object = `{"imagePullPolicy":"Always","terminationMessagePath":"/t","terminationMessagePolicy":"File",` + c.object + `}`
	}
	return cases
}

func TestPullPolicy(t *testing.T) {
	const digest = "@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for image, want := range map[string]string{
		"nginx":                                "Always",
		"nginx:latest":                         "Always",
		"nginx:1.27":                           "IfNotPresent",
		"nginx:latest-alpine":                  "IfNotPresent",
		"registry.test:5000/nginx":             "Always",
		"registry.test:5000/team/nginx:latest": "Always",
		"registry.test:5000/team/nginx:v1":     "IfNotPresent",
		"registry.test/latest":                 "Always",
		"nginx" + digest:                       "IfNotPresent",
		"registry.test:5000/nginx" + digest:    "IfNotPresent",
		"nginx:1.27" + digest:                  "IfNotPresent",
		"nginx:latest" + digest:                "Always",
		"":                                     "IfNotPresent",
		"NGINX":                                "IfNotPresent",
		"nginx:":                               "IfNotPresent",
		"$(IMAGE)":                             "IfNotPresent",
		"https://registry.test/nginx":          "IfNotPresent",
		"registry.test/" + "n\u00e4me" + ":v1": "IfNotPresent",
		"[2001:db8::1]:5000/team/nginx":        "Always",
		"[2001:db8::1]:5000/team/nginx:v1":     "IfNotPresent",
		strings.Repeat("a", 200):               "Always",
		strings.Repeat("a", 2000):              "IfNotPresent",
	} {
		top, err := jsontree.Parse(jsontext.Value(`{"image":` + string(jsontree.Quote(image)) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		pullPolicy("imagePullPolicy", "image")(top)
		if got := top.TextOf("imagePullPolicy"); got != want {
			t.Errorf("image %q: %s, want %s", image, got, want)
		}
	}
	testRules(t, []rule{pullPolicy("p", "image")}, []ruleCase{
		{"no image", `{}`, []string{`add /p "IfNotPresent"`}},
		{"an image that is no string", `{"image":7}`, []string{`add /p "IfNotPresent"`}},
	})
}

// TestLongImage gives the parser's regular expressions an image that would cost them more than ten seconds.
func TestLongImage(t *testing.T) {
	top, err := jsontree.Parse(jsontext.Value(`{"image":"` + strings.Repeat("a", 32<<20) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	pullPolicy("imagePullPolicy", "image")(top)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestRoundUp(t *testing.T) {
	testRules(t, []rule{roundUp("r")}, []ruleCase{
		{"kept as written", `{"r":{"a":"1000m","b":"0.5","c":"1e3","d":"2Gi","e":1.50,"f":"1m","g":"0"}}`, nil},
		{"micro", `{"r":{"a":"1u"}}`, []string{`replace /r/a "1m"`}},
		{"nano", `{"r":{"a":"1000001n"}}`, []string{`replace /r/a "2m"`}},
		{"exactly a thousandth", `{"r":{"a":"1000000n"}}`, nil},
		{"a part of a byte", `{"r":{"a":"1.2345"}}`, []string{`replace /r/a "1235m"`}},
		{"negative, upwards too", `{"r":{"a":"-1.2345"}}`, []string{`replace /r/a "-1235m"`}},
		{"binary", `{"r":{"a":"0.0001Ki"}}`, []string{`replace /r/a "103m"`}},
		{"number", `{"r":{"a":0.0000001}}`, []string{`replace /r/a "1m"`}},
		{"exponent, which stays one", `{"r":{"a":"1e-7"}}`, []string{`replace /r/a "1e-3"`}},
		{"the largest exponents", `{"r":{"a":"1e-100","b":"1e100","c":"1E","d":"1Ei","e":"1E3"}}`, []string{`replace /r/a "1e-3"`}},
		{"too far to parse", `{"r":{"a":"1e-99999999","b":1e-99999999,"c":"12345678901234567890.1e99999999"}}`, nil},
		{"no quantities", `{"r":{"a":"lots","b":null,"c":{},"d":[1],"e":true,"f":""}}`, nil},
	})
}
