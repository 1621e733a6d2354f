package changes

import (
	"bytes"
	"fmt"
)

// kind is a kind of farms.
type kind struct {
	name string
	farm string // settings in YAML
	list string // where a farm has its backends in YAML; %s stands for them
	// backends is the path of the backends below a farm in the API.
	backends string
	first    int // number of the first backend
	// neighbours reports that VIP and backends must be on an Ethernet.
	neighbours bool
}

var (
	web       = kind{"http", "profile: http", "services: [{name: all, backends: [%s]}]", "/services/all/backends", 0, false}
	https     = kind{"https", "profile: https", "services: [{name: all, backends: [%s]}]", "/services/all/backends", 0, false}
	relay     = kind{"l4xnat in userspace", "profile: l4xnat, protocol: tcp, datapath: userspace", "backends: [%s]", "/backends", 0, false}
	packets   = kind{"l4xnat in the kernel", "profile: l4xnat, protocol: tcp, datapath: kernel", "backends: [%s]", "/backends", 0, false}
	direct    = kind{"l4xnat with dsr", "profile: l4xnat, protocol: tcp, nattype: dsr", "backends: [%s]", "/backends", 0, true}
	stateless = kind{"l4xnat with stateless_dnat", "profile: l4xnat, protocol: tcp, nattype: stateless_dnat", "backends: [%s]", "/backends", 0, true}
	names     = kind{"gslb", "profile: gslb", "services: [{name: all, algorithm: weight, deftcpport: 8080, backends: [%s]}]", "/services/all/backends", 1, false}
)

// document returns the configuration: each farm has ten backends.
func (k kind) document() []byte {
	var list, text bytes.Buffer
	vip, backends := k.addresses()
	for i := range each {
		fmt.Fprintf(&list, "{ip: %s%d", backends, i+1)
		if k.name != names.name && k.name != direct.name {
			list.WriteString(", port: 8080")
		}
		list.WriteString("},")
	}
	text.WriteString("farms:\n")
	for i := range farms {
		fmt.Fprintf(&text, "- {name: farm%04d, %s, vip: %s, vport: %d, %s}\n", i, k.farm, vip, firstPort+i, fmt.Sprintf(k.list, list.String()))
	}
	return text.Bytes()
}

// addresses returns the VIP and the beginning of the addresses of backends.
func (k kind) addresses() (vip, backends string) {
	if k.neighbours {
		return "10.9.0.1", "10.9.1."
	}
	return "127.0.0.1", "127.0.1."
}
