package defaults

// fieldRef has the defaults of a core/v1 ObjectFieldSelector.
var fieldRef = empty("apiVersion", "v1")

var httpGet = in("httpGet",
	empty("path", "/"),
	empty("scheme", "HTTP"),
)

// probe has the defaults of a core/v1 Probe. The service of a gRPC probe is not among them, see sidecarContainer.
var probe = []rule{
	empty("timeoutSeconds", 1),
	empty("periodSeconds", 10),
	empty("successThreshold", 1),
	empty("failureThreshold", 3),
	httpGet,
}

// container has the defaults of a core/v1 Container, as Kubernetes sets them in every pod template. Requests are not
// derived from limits: Kubernetes does that for Pods only.
var container = []rule{
	pullPolicy("imagePullPolicy", "image"),
	empty("terminationMessagePath", "/dev/termination-log"),
	empty("terminationMessagePolicy", "File"),
	each("ports", empty("protocol", "TCP")),
	each("env", in("valueFrom", in("fieldRef", fieldRef))),
	in("resources", roundUp("limits"), roundUp("requests")),
	in("livenessProbe", probe...),
	in("readinessProbe", probe...),
	in("startupProbe", probe...),
	in("lifecycle",
		in("postStart", httpGet),
		in("preStop", httpGet),
	),
}
