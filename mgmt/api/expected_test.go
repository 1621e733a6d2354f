package api_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

// company returns an appliance of several teams: the farms shop and names belong to the
// group team with its administrator ann, dns to the group other with olga. Further users
// see shop and names: oscar operates farms, vera only reads. The administrator of the
// appliance, wim, and the monitoring, mona, see all farms, also later ones.
func company(t *testing.T) *appliance {
	a := newAppliance(t)
	a.shop(2)
	a.gslb()
	a.dns(1)
	for _, g := range []struct{ name, role, user, farms string }{
		{"team", "administration", "ann", "shop names"}, {"other", "administration", "olga", "dns"}, {"operators", "management", "oscar", "shop names"},
		{"viewers", "readonly", "vera", "shop names"}, {"whole", "administration", "wim", ""}, {"monitors", "monitoring", "mona", ""},
	} {
		a.user(g.user)
		a.must(201, "POST", "/rbac/groups", `{"name":"`+g.name+`"}`)
		a.must(200, "PUT", "/rbac/groups/"+g.name, `{"role":"`+g.role+`"}`)
		a.must(201, "POST", "/rbac/groups/"+g.name+"/users", `{"name":"`+g.user+`"}`)
		for name := range strings.FieldsSeq(g.farms) {
			a.must(201, "POST", "/rbac/groups/"+g.name+"/farms", `{"name":"`+name+`"}`)
		}
		if g.farms == "" {
			a.must(200, "PUT", "/rbac/groups/"+g.name, `{"all_farms":"true"}`)
		}
	}
	return a
}

// reads are the pages that everybody who sees farms opens.
const reads = `200 GET /farms
200 GET /farms/shop
200 GET /farms/shop/summary
200 GET /farms/shop/status
200 GET /farms/shop/services/web
200 GET /farms/shop/services/web/backends
200 GET /farms/names/zones
200 GET /farms/names/zones/example.com/export
200 GET /stats/farms/shop
200 GET /stats/farms/total
200 GET /stats
200 GET /connections
200 GET /lint
200 GET /headroom
200 GET /timeline
200 GET /ids
200 GET /schema
200 GET /system/version
200 GET /system/users
200 GET /rbac/menus
200 GET /rbac/permissions
200 GET /rbac/sessions
200 POST /farms/shop/explain {"url":"/"}
200 POST /system/users {"zapikey":"Changed0123456789","zapi_permissions":"true"}`

const operations = `200 PUT /farms/shop/actions {"action":"stop"}
200 PUT /farms/shop/actions {"action":"start"}
200 PUT /farms/shop/actions {"action":"restart"}
200 PUT /farms/shop/services/web/backends/1/maintenance {"action":"maintenance","mode":"drain"}
200 PUT /farms/shop/services/web/backends/1/maintenance {"action":"up"}
200 GET /monitoring/fg`

const building = `201 POST /farms {"farmname":"new","profile":"http","vip":"192.0.2.10","vport":8080}
200 PUT /farms/new {"contimeout":5}
201 POST /farms/new/services {"id":"api"}
200 PUT /farms/new/services/api {"urlp":"^/api"}
201 POST /farms/new/services/api/backends {"ip":"10.0.0.9","port":8080}
200 PUT /farms/new/services/api/backends/0 {"weight":2}
200 POST /monitoring/fg {"name":"alive","command":"check_tcp -H HOST -p PORT"}
200 POST /farms/new/services/api/fg {"name":"alive"}
200 DELETE /farms/new/services/api/fg/alive
200 DELETE /monitoring/fg/alive
201 POST /certificates {"name":"site","fqdn":"www.example.com","country":"DE","state":"Berlin","locality":"Berlin","organization":"Shop","division":"IT","mail":"a@example.com"}
200 GET /certificates
200 DELETE /certificates/site.csr
201 POST /farms/shop/addheader {"header":"X-A: b"}
200 DELETE /farms/shop/addheader/0
200 DELETE /farms/shop/services/web/sessions
201 POST /farms/names/zones/example.com/resources {"rname":"www","type":"A","rdata":"192.0.2.1"}
200 PUT /farms/new?dry_run=true {"contimeout":6}
200 DELETE /farms/new/services/api/backends/0
200 DELETE /farms/new`

// expectations lists for each person the requests that must succeed, in this order, and the
// requests that must be refused. A user of the API tries the same with the key of that
// person.
var expectations = []struct{ who, may, mayNot string }{
	{"ann", reads + "\n" + operations + "\n" + building + `
200 GET /rbac/users
200 GET /rbac/users/ann
200 GET /rbac/groups/team
201 POST /rbac/users {"name":"kim","password":"secret-1"}
200 GET /rbac/users/kim
200 PUT /rbac/users/kim {"newpassword":"secret-2"}
200 PUT /rbac/users/kim {"zapikey":"KimsKey0123456789","zapi_permissions":"true","webgui_permissions":"true"}
200 DELETE /rbac/users/kim
201 POST /rbac/users {"name":"kim","service":"ldap","group":"team"}
200 DELETE /rbac/groups/team/users/kim
201 POST /rbac/users {"name":"tim","password":"secret-1","group":"team"}`, `403 POST /rbac/users {"name":"x","password":"secret-1","group":"other"}
403 POST /rbac/users {"name":"x","password":"secret-1","group":"whole"}
404 POST /rbac/users {"name":"x","password":"secret-1","group":"none"}
400 POST /rbac/users {"name":"olga","password":"secret-1"}
400 POST /rbac/groups/team/users {"name":"olga"}
403 PUT /rbac/users/olga {"newpassword":"secret-2"}
403 DELETE /rbac/users/olga
403 DELETE /rbac/users/wim
403 POST /rbac/groups {"name":"x"}
404 POST /rbac/groups/team/farms {"name":"dns"}
403 PUT /rbac/groups/team {"all_farms":"true"}
404 GET /farms/dns
403 GET /history
403 GET /audit
403 POST /system/global {"session_timeout":15}
200 PUT /rbac/groups/team {"role":"management"}
403 POST /rbac/users {"name":"x","password":"secret-1"}`},
	{"oscar", reads + "\n" + operations, `403 PUT /farms/shop {"contimeout":5}
403 POST /farms {"farmname":"x","profile":"http","vip":"192.0.2.10","vport":8080}
403 DELETE /farms/shop
403 POST /monitoring/fg {"name":"x","command":"check_tcp"}
403 POST /rbac/users {"name":"x","password":"secret-1"}
404 PUT /farms/dns/actions {"action":"stop"}`},
	{"vera", reads + `
200 GET /monitoring/fg
200 GET /certificates
200 GET /rbac/users
200 GET /rbac/groups
200 GET /rbac/roles`, `403 PUT /farms/shop/actions {"action":"stop"}
403 PUT /farms/shop {"contimeout":5}
403 DELETE /connections?farm=shop
403 PUT /farms/shop/services/web/backends/1/maintenance {"action":"maintenance"}
403 POST /rbac/users {"name":"x","password":"secret-1"}
404 GET /farms/dns`},
	{"mona", reads + `
200 GET /farms/dns
200 GET /status
200 GET /system/logs
200 GET /system/notifications`, `403 PUT /farms/shop/actions {"action":"stop"}
403 GET /rbac/users`},
	{"wim", reads + "\n" + operations + "\n" + building + `
200 GET /farms/dns
200 DELETE /connections?farm=dns
200 GET /status
200 GET /config
200 GET /history
201 POST /history/tags {"name":"monday"}
200 GET /audit
200 GET /system/global
200 PUT /system/global {"session_timeout":15}
201 POST /system/backup {"name":"monday"}
200 DELETE /system/backup/monday
200 GET /system/notifications
201 POST /rbac/groups {"name":"new"}
201 POST /rbac/roles {"name":"few","copy_from":"readonly"}
200 PUT /rbac/groups/new {"role":"few"}
201 POST /rbac/groups/new/farms {"name":"dns"}
201 POST /rbac/users {"name":"kim","password":"secret-1"}
201 POST /rbac/groups/new/users {"name":"kim"}
201 POST /rbac/users {"name":"tim","password":"secret-1","group":"new"}
200 DELETE /rbac/groups/new/users/tim
200 PUT /rbac/users/tim {"newpassword":"secret-2"}
200 PUT /rbac/users/ann {"newpassword":"secret-2"}
200 DELETE /rbac/users/tim
200 DELETE /rbac/users/olga
200 DELETE /rbac/groups/new
200 DELETE /rbac/roles/few`, `403 POST /keys {"name":"x"}
403 PUT /rbac/services {"ldap":"true"}
404 PUT /rbac/users/root {"newpassword":"secret-2"}`},
}

// People of a company can do what their role is for, and nothing beyond it.
func TestPeopleOfACompanyCanDoTheirWork(t *testing.T) {
	for _, e := range expectations {
		t.Run(e.who, func(t *testing.T) {
			a := company(t)
			key := keyOf(e.who)
			for line := range strings.Lines(e.may + "\n" + e.mayNot) {
				line = strings.TrimSpace(line)
				want, request, _ := strings.Cut(line, " ")
				method, request, _ := strings.Cut(request, " ")
				path, body, _ := strings.Cut(request, " ")
				if r := a.send(method, api.Base+path, body, "ZAPI_KEY", key); strconv.Itoa(r.status) != want {
					t.Errorf("%s: %d: %s", line, r.status, r.raw)
				}
				if strings.Contains(line, "Changed0123456789") {
					key = "Changed0123456789"
				}
			}
		})
	}
}
