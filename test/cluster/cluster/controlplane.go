package cluster

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-io/fairlead/test/cluster/internal/pki"
	"github.com/fairlead-io/fairlead/test/cluster/internal/process"
)

// The names of the control plane's programs, for StopProcess and its like.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	ImageRegistry     = "registry"
	// Kwok pretends the nodes of LevelKwok.
	Kwok = "kwok"
)

// controlPlane lists the programs of the control plane in the order of their start.
func (s state) controlPlane() []string {
	programs := []string{Etcd, APIServer}
	if s.hasControllers() {
		programs = append(programs, ControllerManager, Scheduler)
	}
	if s.Level == LevelKwok {
		programs = append(programs, Kwok)
	}
	return programs
}

// writeCredentials makes the authorities, the certificates of the control plane and its kubeconfigs.
func (c *Cluster) writeCredentials() error {
	d, s := c.pki(), c.state.Slot
	server := pki.Leaf{
		CommonName: "kube-apiserver",
		DNSNames:   []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPs:        []net.IP{net.IPv4(127, 0, 0, 1), s.kubernetesService().AsSlice(), s.gateway().AsSlice()},
	}
	// the front proxy's authority must not be the clients', or the API server refuses to start
	for _, ca := range []string{"ca", "front-proxy-ca"} {
		if err := d.CA(ca); err != nil {
			return err
		}
	}
	if err := d.SigningKey("service-account"); err != nil {
		return err
	}
	if err := d.Sign("ca", "apiserver", server); err != nil {
		return err
	}
	kubelets := pki.Leaf{CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"}}
	if err := d.Sign("ca", "kubelet-client", kubelets); err != nil {
		return err
	}
	clients := map[string]pki.Leaf{
		"admin":           {CommonName: "admin", Organizations: []string{"system:masters"}},
		ControllerManager: {CommonName: "system:kube-controller-manager"},
		Scheduler:         {CommonName: "system:kube-scheduler"},
		// a thousand kubelets are not throttled as one client
		Kwok: {CommonName: Kwok, Organizations: []string{"system:masters"}},
	}
	for name, leaf := range clients {
		if err := c.writeClient(name, leaf); err != nil {
			return err
		}
	}
	return nil
}

// writeClient makes a client certificate and the kubeconfig that uses it.
func (c *Cluster) writeClient(name string, leaf pki.Leaf) error {
	d := c.pki()
	if err := d.Sign("ca", name, leaf); err != nil {
		return err
	}
	cluster := &clientcmdapi.Cluster{Server: c.apiURL(), CertificateAuthority: d.Crt("ca")}
	user := &clientcmdapi.AuthInfo{ClientCertificate: d.Crt(name), ClientKey: d.Key(name)}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.state.Name] = cluster
	config.AuthInfos[name] = user
	config.Contexts[c.state.Name] = &clientcmdapi.Context{Cluster: c.state.Name, AuthInfo: name}
	config.CurrentContext = c.state.Name
	if err := clientcmdapi.FlattenConfig(config); err != nil { // so that the file works anywhere
		return fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return clientcmd.WriteToFile(*config, c.kubeconfig(name))
}

func (c *Cluster) apiURL() string {
	return "https://127.0.0.1:" + strconv.Itoa(c.state.Slot.apiServerPort())
}

func (c *Cluster) etcdURL() string {
	return "http://127.0.0.1:" + strconv.Itoa(c.state.Slot.etcdPort())
}

// controlSpec says how to start a program of the control plane.
func (c *Cluster) controlSpec(name string) (process.Spec, error) {
	var args []string
	switch name {
	case Etcd:
		args = c.etcdArgs()
	case APIServer:
		args = c.apiServerArgs()
	case ControllerManager:
		args = c.controllerManagerArgs()
	case Scheduler:
		args = c.schedulerArgs()
	case Kwok:
		return process.Spec{Name: name, Log: c.log(name), Args: append(c.kwokArgs(), c.state.ExtraArgs[name]...)}, nil
	case ImageRegistry:
		address := "127.0.0.1:" + strconv.Itoa(c.state.Slot.registryPort())
		return process.Spec{Name: name, Log: c.log(name), Args: []string{c.helper(), "registry", "--address", address, "--dir", c.registry()}}, nil
	default:
		return process.Spec{}, fmt.Errorf("process %q: the cluster has no such process", name)
	}
	args = append(args, c.state.ExtraArgs[name]...)
	return process.Spec{Name: name, Log: c.log(name), Args: append([]string{filepath.Join(c.state.Binaries, name)}, args...)}, nil
}

func (c *Cluster) etcdArgs() []string {
	peer := "http://127.0.0.1:" + strconv.Itoa(c.state.Slot.etcdPeerPort())
	return []string{
		"--name=default", "--data-dir=" + c.etcd(),
		"--listen-client-urls=" + c.etcdURL(), "--advertise-client-urls=" + c.etcdURL(),
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", // a crash of the machine may lose the cluster, which is made for one run
	}
}

func (c *Cluster) apiServerArgs() []string {
	d, s := c.pki(), c.state.Slot
	args := []string{
		"--etcd-servers=" + c.etcdURL(),
		"--secure-port=" + strconv.Itoa(s.apiServerPort()),
		"--tls-cert-file=" + d.Crt("apiserver"), "--tls-private-key-file=" + d.Key("apiserver"),
		"--client-ca-file=" + d.Crt("ca"),
		"--service-account-key-file=" + filepath.Join(string(d), "service-account.pub"),
		"--service-account-signing-key-file=" + d.Key("service-account"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=" + s.services().String(),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--enable-aggregator-routing=true", // the API server dials a webhook's Pod itself: there is no kube-proxy
		"--kubelet-client-certificate=" + d.Crt("kubelet-client"), "--kubelet-client-key=" + d.Key("kubelet-client"),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + d.Crt("front-proxy-ca"),
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
	}
	if c.state.Level != LevelReal {
		// nobody comes from outside, and a loopback address may not be an endpoint of the Service kubernetes
		return append(args, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none")
	}
	return append(args, "--advertise-address="+s.gateway().String())
}

func (c *Cluster) controllerManagerArgs() []string {
	d := c.pki()
	args := append(c.clientArgs(ControllerManager, c.state.Slot.controllerPort()),
		"--service-account-private-key-file="+d.Key("service-account"),
		"--root-ca-file="+d.Crt("ca"),
		"--use-service-account-credentials=true",
		"--cluster-signing-cert-file="+d.Crt("ca"), "--cluster-signing-key-file="+d.Key("ca"),
	)
	if c.state.Level == LevelKwok {
		args = append(args, "--node-monitor-grace-period="+fakeNodeGrace.String())
	}
	return args
}

func (c *Cluster) schedulerArgs() []string {
	return c.clientArgs(Scheduler, c.state.Slot.schedulerPort())
}

// clientArgs are the arguments that the programs beside the API server share. There is only one of each, so
// waiting for a lease at every start would be lost time.
func (c *Cluster) clientArgs(name string, port int) []string {
	k := c.kubeconfig(name)
	return []string{
		"--kubeconfig=" + k, "--authentication-kubeconfig=" + k, "--authorization-kubeconfig=" + k,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--leader-elect=false",
		// the default of 20 requests a second makes the controller manager alone take five seconds to begin
		"--kube-api-qps=300", "--kube-api-burst=600",
	}
}
