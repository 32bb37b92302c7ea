# METADATA
# title: Lists
# description: What lists of every kind have in common.
package fairlead.shared.list

# repeated are the places of elements that are there before. To compare each with each would take seconds where there are thousands,
# and whoever sends an object decides how many there are.
repeated(list) := {place |
	sorted := sort([[element, i] | some i, element in list])
	some n, [element, place] in sorted
	sorted[n - 1][0] == element
}

