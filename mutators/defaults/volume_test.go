package defaults

import "testing"

func TestVolume(t *testing.T) {
	testRules(t, volume, []ruleCase{
		{"no source", `{"name":"v"}`, []string{`add /emptyDir {}`}},
		{"a source that is null", `{"name":"v","secret":null,"emptyDir":null}`, []string{`add /emptyDir {}`}},
		{"a source that is newer than us", `{"name":"v","futureSource":{"big":9007199254740995}}`, nil},
		{"emptyDir", `{"name":"v","emptyDir":{"futureVolumeKnob":{"tier":2}}}`, nil},
		{"hostPath", `{"hostPath":{"path":"/x"}}`, []string{`add /hostPath/type ""`}},
		{"hostPath of a type", `{"hostPath":{"type":"Socket"}}`, nil},
		{"secret", `{"secret":{}}`, []string{`add /secret/defaultMode 420`}},
		{"secret without rights", `{"secret":{"defaultMode":0}}`, nil},
		{"configMap", `{"configMap":{"name":"c"}}`, []string{`add /configMap/defaultMode 420`}},
		{"downwardAPI", `{"downwardAPI":{"items":[{"fieldRef":{"fieldPath":"metadata.labels"}},{"resourceFieldRef":{}}]}}`, []string{
			`add /downwardAPI/items/0/fieldRef/apiVersion "v1"`,
			`add /downwardAPI/defaultMode 420`,
		}},
		{"projected", `{"projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"serviceAccountToken":{"expirationSeconds":600}},
			{"downwardAPI":{"items":[{"fieldRef":{}}]}},{"configMap":{}},{"secret":{}}]}}`, []string{
			`add /projected/sources/0/serviceAccountToken/expirationSeconds 3600`,
			`add /projected/sources/2/downwardAPI/items/0/fieldRef/apiVersion "v1"`,
			`add /projected/defaultMode 420`,
		}},
		{"ephemeral", `{"ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"1.0001"},"limits":{"storage":"1u"}}}}}}`, []string{
			`replace /ephemeral/volumeClaimTemplate/spec/resources/requests/storage "1001m"`,
			`replace /ephemeral/volumeClaimTemplate/spec/resources/limits/storage "1m"`,
			`add /ephemeral/volumeClaimTemplate/spec/volumeMode "Filesystem"`,
		}},
		{"ephemeral block", `{"ephemeral":{"volumeClaimTemplate":{"spec":{"volumeMode":"Block"}}}}`, nil},
		{"ephemeral without spec", `{"ephemeral":{"volumeClaimTemplate":{}}}`,
			[]string{`add /ephemeral/volumeClaimTemplate/spec {"volumeMode":"Filesystem"}`}},
		{"ephemeral without template", `{"ephemeral":{}}`, nil},
		{"image", `{"image":{"reference":"bank.test/model:v1"}}`, []string{`add /image/pullPolicy "IfNotPresent"`}},
		{"image latest", `{"image":{"reference":"bank.test/model"}}`, []string{`add /image/pullPolicy "Always"`}},
		{"iscsi", `{"iscsi":{}}`, []string{`add /iscsi/iscsiInterface "default"`}},
		{"rbd", `{"rbd":{"pool":""}}`,
			[]string{`add /rbd/pool "rbd"`, `add /rbd/user "admin"`, `add /rbd/keyring "/etc/ceph/keyring"`}},
		{"scaleIO", `{"scaleIO":{}}`, []string{`add /scaleIO/storageMode "ThinProvisioned"`, `add /scaleIO/fsType "xfs"`}},
		{"azureDisk", `{"azureDisk":{}}`, []string{`add /azureDisk/cachingMode "ReadWrite"`, `add /azureDisk/fsType "ext4"`,
			`add /azureDisk/readOnly false`, `add /azureDisk/kind "Shared"`}},
		{"azureDisk chosen", `{"azureDisk":{"cachingMode":"None","fsType":"","readOnly":true,"kind":"Managed"}}`, nil},
		{"others", `{"nfs":{},"csi":{"driver":"d"},"persistentVolumeClaim":{"claimName":"c"},"fc":{}}`, nil},
		{"kinds that do not fit", `{"hostPath":"/x","secret":[{}],"projected":{"sources":{}},"ephemeral":7}`,
			[]string{`add /projected/defaultMode 420`}},
	})
}
