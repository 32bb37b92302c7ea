# METADATA
# title: NodeImage
# description: What a NodeImage must be, in either version (image-pull.md §2.1).
# custom:
#   kinds: [NodeImage]
#   code: 400
package fairlead.apps.nodeimage

import data.fairlead.shared.list

spec := object.get(input.object, "spec", {})

old := object.get(input, ["oldObject", "spec"], {})

namespace := object.get(input.object, ["metadata", "namespace"], "")

name := object.get(input.object, ["metadata", "name"], "")

images := object.get(spec, "images", {})

field(name_) := sprintf("spec.images[%s]", [name_])

# tags are all, with their fields.
tags contains [sprintf("%s.tags[%d]", [field(name_), i]), tag] if {
	some name_, image in images
	some i, tag in image.tags
}

# METADATA
# title: The kind is switched on
# description: The feature gate KruiseDaemon is on.
# custom:
#   id: nodeimage-gate
#   code: 403
deny contains {"rule": "nodeimage-gate", "field": "spec", "type": "forbidden", "message": sprintf("the feature gate %s is off", [gate])} if {
	some gate in ["KruiseDaemon"]
	not data.inventory.gates[gate]
}

# METADATA
# title: A node holds so many images
# description: spec.images has at most 256 names.
# custom:
#   id: nodeimage-images
deny contains {"rule": "nodeimage-images", "field": "spec.images", "type": "invalid", "value": count(images), "message": "must be at most 256 names of images"} if {
	count(images) > 256
}

# METADATA
# title: Images have names
# description: No name in spec.images is empty.
# custom:
#   id: nodeimage-name
deny contains {"rule": "nodeimage-name", "field": field(name_), "type": "required", "message": "the name of an image"} if {
	some name_, _ in images
	name_ == ""
}

# METADATA
# title: Tags have names
# description: The tag of every entry of an image is not empty.
# custom:
#   id: nodeimage-tag
deny contains {"rule": "nodeimage-tag", "field": sprintf("%s.tag", [at]), "type": "required", "message": "the tag of the image, or its digest"} if {
	some [at, tag] in tags
	object.get(tag, "tag", "") == ""
}

# METADATA
# title: Tags are there once
# description: No image has two entries of one tag.
# custom:
#   id: nodeimage-tag-duplicate
deny contains {"rule": "nodeimage-tag-duplicate", "field": sprintf("%s.tags[%d].tag", [field(name_), i]), "type": "duplicate", "value": image.tags[i].tag} if {
	some name_, image in images
	some i in list.repeated([object.get(tag, "tag", "") | some tag in image.tags])
}

# METADATA
# title: Tags have an age
# description: Every entry has createdAt, which is filled in if it is left out.
# custom:
#   id: nodeimage-created
deny contains {"rule": "nodeimage-created", "field": sprintf("%s.createdAt", [at]), "type": "required", "message": "when the entry was made"} if {
	some [at, tag] in tags
	object.get(tag, "createdAt", null) == null
}

# METADATA
# title: Versions are not negative
# description: The version of every entry is at least 0.
# custom:
#   id: nodeimage-version
deny contains {"rule": "nodeimage-version", "field": sprintf("%s.version", [at]), "type": "invalid", "value": tag.version, "message": "must not be negative"} if {
	some [at, tag] in tags
	tag.version < 0
}

# METADATA
# title: Entries go away
# description: Every entry has pullPolicy.ttlSecondsAfterFinished.
# custom:
#   id: nodeimage-ttl
deny contains {"rule": "nodeimage-ttl", "field": sprintf("%s.pullPolicy.ttlSecondsAfterFinished", [at]), "type": "required", "message": "how long the entry stays after its image is pulled"} if {
	some [at, tag] in tags
	object.get(tag, ["pullPolicy", "ttlSecondsAfterFinished"], null) == null
}
