# METADATA
# title: Lists
# description: What lists of every kind have in common.
package fairlead.shared.list

# repeated are the places of elements that are there before. To compare each with each would take seconds where there are thousands.
repeated(list) := set() if {
	count({element | some element in list}) == count(list)
} else := {i |
	sorted := sort(list)
	twice := {element | some i, element in sorted; sorted[i - 1] == element}
	some element in twice
	places := [i | some i, other in list; other == element]
	some n, i in places
	n > 0
}
