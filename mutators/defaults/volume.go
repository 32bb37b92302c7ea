package defaults

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fairlead-io/fairlead/internal/jsontree"
)

// permissions is the mode 0644 of the files in volumes that Kubernetes itself fills.
const permissions = 0o644

// hour, in seconds, is how long a projected service account token lives.
const hour = 3600

var downwardItems = each("items", in("fieldRef", fieldRef))

// volume has the defaults of a core/v1 Volume.
var volume = []rule{
	emptyDir,
	in("hostPath", unset("type", "")),
	in("secret", unset("defaultMode", permissions)),
	in("configMap", unset("defaultMode", permissions)),
	in("downwardAPI", unset("defaultMode", permissions), downwardItems),
	in("projected", unset("defaultMode", permissions), each("sources",
		in("downwardAPI", downwardItems),
		in("serviceAccountToken", unset("expirationSeconds", hour)),
	)),
	in("ephemeral", in("volumeClaimTemplate", ensure("spec",
		unset("volumeMode", "Filesystem"),
		in("resources", roundUp("limits"), roundUp("requests")),
	))),
	in("image", pullPolicy("pullPolicy", "reference")),
	in("iscsi", empty("iscsiInterface", "default")),
	in("rbd",
		empty("pool", "rbd"),
		empty("user", "admin"),
		empty("keyring", "/etc/ceph/keyring"),
	),
	in("scaleIO",
		empty("storageMode", "ThinProvisioned"),
		empty("fsType", "xfs"),
	),
	in("azureDisk",
		unset("cachingMode", "ReadWrite"),
		unset("fsType", "ext4"),
		unset("readOnly", false),
		unset("kind", "Shared"),
	),
}

// emptyDir makes a volume without a source an empty directory. Any other member may be a source that is newer than
// what we know, and a second one would make the volume invalid.
func emptyDir(volume *jsontree.Node) {
	for _, m := range volume.Members() {
		if m.Name != "name" && m.Value.Kind() != jsontext.KindNull {
			return
		}
	}
	volume.Put(jsontree.Add, "emptyDir", jsontext.Value("{}"))
}
