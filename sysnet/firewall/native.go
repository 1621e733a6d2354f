package firewall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// base is an nft base chain at the forward or input hook.
type base struct {
	family, table, name, policy string
}

// iptables reports whether the chain belongs to iptables-nft.
func (b base) iptables() bool {
	return (b.family == "ip" || b.family == "ip6") && b.table == "filter" && (b.name == forward || b.name == input)
}

// listing is the output of `nft -j list …`, limited to the properties used here.
type listing struct {
	Nftables []struct {
		Chain *struct {
			Family, Table, Name, Hook, Policy string
		}
		Rule *struct {
			Family, Table, Chain string
			Expr                 []map[string]json.RawMessage
		}
	}
}

// bases returns all foreign base chains at a hook.
func bases(hook string) ([]base, error) {
	l, err := nft("list", "chains")
	if err != nil {
		return nil, err
	}
	return l.bases(hook), nil
}

func (l *listing) bases(hook string) []base {
	var all []base
	for _, o := range l.Nftables {
		if c := o.Chain; c != nil && c.Hook == hook && !claim.IsTable(c.Table) {
			all = append(all, base{c.Family, c.Table, c.Name, c.Policy})
		}
	}
	return all
}

// nft runs the nft program. A machine without it has no nft tables to consider.
func nft(args ...string) (*listing, error) {
	program, err := exec.LookPath("nft")
	if err != nil {
		return &listing{}, nil
	}
	var problem bytes.Buffer
	cmd := exec.Command(program, append([]string{"-j"}, args...)...)
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("nft %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problem.Bytes()))
	}
	return parseListing(out)
}

func parseListing(out []byte) (*listing, error) {
	var l listing
	if err := json.Unmarshal(out, &l); err != nil {
		return nil, fmt.Errorf("what nft printed cannot be read: %w", err)
	}
	return &l, nil
}
