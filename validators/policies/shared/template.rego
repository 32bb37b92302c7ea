# METADATA
# title: Templates
# description: What Pod templates and claim templates of every kind have in common. The API server judges them; one that an update leaves alone is not judged again.
package fairlead.shared.template

nothing := {"errors": [], "warnings": []}

# judged is what the API server says of a Pod template whose claims have volumes of their names.
judged(field, template, claims_field, claims, before, claims_before) := nothing if {
	template == before
	names(claims) == names(claims_before)
} else := fairlead.template_problems(field, template, claims_field, claims)

# names has one for each claim, as every claim has a volume. A claim that is null is one that says nothing, as to every decoder of Go.
names(claims) := [name(claim) | some claim in claims]

name(null) := ""

name(claim) := object.get(claim, ["metadata", "name"], "") if claim != null

# most_asked is how much of one kind of thing the API server is asked about for a request, which has some seconds.
most_asked := 50

# claims_judged are what it says of the claim templates that changed, of many the first.
claims_judged(field, claims, before) := {answer |
	changed := changes(claims, before)
	some i in array.slice(changed, 0, most_asked)
	answer := fairlead.claim_problems(sprintf("%s[%d]", [field, i]), claims[i])
} | {answer |
	count(changes(claims, before)) > most_asked
	answer := {"errors": [], "warnings": [sprintf("%s: only the first %d were validated by the API server", [field, most_asked])]}
}

# changes are the places of what was not there before.
changes(now, before) := [i |
	known := {element | some element in before}
	some i, element in now
	not element in known
]

# lasting are the mistakes of a template whose Pods run for good.
lasting(field, template) := {problem |
	policy := template.spec.restartPolicy
	not policy in {"", "Always"}
	problem := {"field": sprintf("%s.spec.restartPolicy", [field]), "type": "unsupported", "value": policy, "message": `supported values: "Always"`}
} | {problem |
	template.spec.activeDeadlineSeconds != null
	problem := {"field": sprintf("%s.spec.activeDeadlineSeconds", [field]), "type": "forbidden", "message": "must not be set: these Pods run for good"}
}

# ending are the mistakes of a template whose Pods come to an end.
ending(field, template) := {problem |
	policy := object.get(template, ["spec", "restartPolicy"], "")
	not policy in {"OnFailure", "Never"}
	problem := {"field": sprintf("%s.spec.restartPolicy", [field]), "type": "unsupported", "value": policy, "message": `supported values: "Never", "OnFailure"`}
}
