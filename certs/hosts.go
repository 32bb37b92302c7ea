package certs

// ServiceHosts lists the names that clients in the cluster have for Services of a namespace, and localhost. An empty
// extra host is left out.
func ServiceHosts(namespace string, services []string, extra ...string) []string {
	var hosts []string
	for _, service := range services {
		// The API server asks for the first; people's tools also use the second.
		hosts = append(hosts, service+"."+namespace+".svc", service+"."+namespace)
	}
	hosts = append(hosts, "localhost", "127.0.0.1", "::1")
	for _, host := range extra {
		if host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
