package e2e_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

func TestRefusedChangesEndNoKernelConnection(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for _, b := range s.Backends {
		b.Server(b.Name, 8080)
	}
	s.Appliance.Listen("tcp", vip+":81") // another program
	a, _ := installed(t, s, "--config", file(t, `farms:
- {name: web, profile: l4xnat, vip: `+vip+`, vport: 80, nattype: nat, datapath: kernel, algorithm: roundrobin, backends: [{ip: 10.10.2.11, port: 8080}, {ip: 10.10.2.12, port: 8080}]}
- {name: other, profile: l4xnat, vip: `+vip+`, vport: 82, nattype: nat, datapath: kernel, backends: [{ip: 10.10.2.11, port: 8080}]}
`))
	open, err := s.Client.Ask("tcp", netip.AddrPort{}, vip+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	rules := func() string { return s.Appliance.Run("nft", "-a", "-t", "list", "table", "inet", "sluice") } // handles change when rules are recreated
	before := rules()
	for _, change := range [][]string{
		{"farm", "set", "web", "vport=81", "datapath=userspace"}, // another program has it
		{"farm", "set", "web", "vport=82"},                       // another farm has it
	} {
		if out, code := a.run(change...); code == 0 {
			t.Fatalf("%v was accepted: %s", change, out)
		}
		if err := open.Again("still here"); err != nil {
			t.Errorf("%v: a connection has ended: %v", change, err)
		}
	}
	if now := rules(); now != before {
		t.Errorf("rules were\n%s\nand are\n%s", before, now)
	}
}
