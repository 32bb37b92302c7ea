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

# claims_judged are what it says of the claim templates that changed.
claims_judged(field, claims, before) := {answer |
	known := {claim | some claim in before}
	some i, claim in claims
	not claim in known
	answer := fairlead.claim_problems(sprintf("%s[%d]", [field, i]), claim)
}

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
