package oci

// Product is the product's image: one static program, run as nobody. The Dockerfile makes the same.
func Product(program string) Spec {
	return Spec{
		Files:      map[string]string{"/fairlead": program},
		Entrypoint: []string{"/fairlead"},
		User:       "65534:65534", // nobody, by number: runAsNonRoot cannot judge a name
	}
}
