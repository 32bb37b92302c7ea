package defaults

// values are members that have a default.
func values(names ...string) shape {
	s := shape{}
	for _, name := range names {
		s[name] = nil
	}
	return s
}

// with adds members that have defaults below.
func (s shape) with(name string, below shape) shape {
	s[name] = below
	return s
}

var (
	fieldRefShape = shape{}.with("fieldRef", values("apiVersion"))
	httpGetShape  = shape{}.with("httpGet", values("path", "scheme"))
	itemsShape    = shape{}.with("items", fieldRefShape)
	probeShape    = values("timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold").
			with("httpGet", values("path", "scheme")).with("grpc", values("service"))
)

// containerShape is that of a core/v1 Container.
var containerShape = values("terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "resources").
	with("ports", values("protocol")).
	with("env", shape{}.with("valueFrom", shape{}.with("fieldRef", values("apiVersion")).with("fileKeyRef", values("optional")))).
	with("livenessProbe", probeShape).with("readinessProbe", probeShape).with("startupProbe", probeShape).
	with("lifecycle", shape{}.with("postStart", httpGetShape).with("preStop", httpGetShape))

// volumeShape is that of a core/v1 Volume.
var volumeShape = values("emptyDir").
	with("hostPath", values("type")).
	with("secret", values("defaultMode")).
	with("configMap", values("defaultMode")).
	with("downwardAPI", values("defaultMode").with("items", fieldRefShape)).
	with("projected", values("defaultMode").
		with("sources", shape{}.with("downwardAPI", itemsShape).with("serviceAccountToken", values("expirationSeconds")))).
	with("ephemeral", shape{}.with("volumeClaimTemplate", shape{}.with("spec", values("volumeMode")))).
	with("image", values("pullPolicy")).
	with("iscsi", values("iscsiInterface")).
	with("rbd", values("pool", "user", "keyring")).
	with("scaleIO", values("storageMode", "fsType")).
	with("azureDisk", values("cachingMode", "fsType", "readOnly", "kind"))

// podTemplate is the shape of a Pod template.
var podTemplate = shape{}.with("spec", values("restartPolicy", "dnsPolicy", "schedulerName", "securityContext", "terminationGracePeriodSeconds").
	with("containers", containerShape).with("initContainers", containerShape).with("volumes", volumeShape))
