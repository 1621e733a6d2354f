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
}

var (
	web     = kind{"http", "profile: http", "services: [{name: all, backends: [%s]}]", "/services/all/backends", 0}
	https   = kind{"https", "profile: https", "services: [{name: all, backends: [%s]}]", "/services/all/backends", 0}
	relay   = kind{"l4xnat in userspace", "profile: l4xnat, protocol: tcp, datapath: userspace", "backends: [%s]", "/backends", 0}
	packets = kind{"l4xnat in the kernel", "profile: l4xnat, protocol: tcp, datapath: kernel", "backends: [%s]", "/backends", 0}
	names   = kind{"gslb", "profile: gslb", "services: [{name: all, algorithm: weight, deftcpport: 8080, backends: [%s]}]", "/services/all/backends", 1}
)

// document returns the configuration: each farm has ten backends.
func (k kind) document() []byte {
	var list, text bytes.Buffer
	for i := range each {
		fmt.Fprintf(&list, "{ip: 127.0.1.%d", i+1)
		if k.name != names.name {
			list.WriteString(", port: 8080")
		}
		list.WriteString("},")
	}
	text.WriteString("farms:\n")
	for i := range farms {
		fmt.Fprintf(&text, "- {name: farm%04d, %s, vip: 127.0.0.1, vport: %d, %s}\n", i, k.farm, firstPort+i, fmt.Sprintf(k.list, list.String()))
	}
	return text.Bytes()
}
