package api_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

const yamlDocument = "farms:\n- {name: shop, profile: http, vip: 192.0.2.10, vport: 80, services: [{name: web, backends: [{ip: 10.0.0.1, port: 80}, {ip: 10.0.0.2, port: 80, priority: 9}]}]}\n"

// everyRequest uses each operation at least once, in an order in which each has something
// to do. The words {pem}, {ca}, {crl} and {yaml} stand for bodies.
var everyRequest = []string{
	`POST /farms {"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80,"contimeout":7,"trusted":["10.0.0.0/8"]}`,
	`POST /farms {"farmname":"mail","profile":"l4xnat","vip":"192.0.2.10","vport":"25,587","persistence":"ip"}`,
	`POST /farms {"farmname":"kern","profile":"l4xnat","vip":"127.0.0.9","vport":"*"}`,
	`POST /farms/shop/services {"id":"web","urlp":"^/"}`, `POST /farms/shop/services {"id":"api","vhost":"a.test","persistence":"COOKIE","sessionid":"SID"}`,
	`POST /farms/shop/services/web/backends {"ip":"10.0.0.1","port":8080,"weight":3}`, `POST /farms/shop/services/web/backends {"ip":"10.0.0.2","port":8080,"alias":"second"}`,
	`POST /farms/shop/services/api/backends {"ip":"10.0.0.3","port":8080}`,
	`POST /farms/mail/backends {"ip":"10.0.0.4","max_conns":5}`, `POST /farms/mail/backends {"ip":"10.0.0.5","port":25}`, `POST /farms/kern/backends {"ip":"10.0.0.6"}`,
	`POST /farms {"farmname":"twin","profile":"http","vip":"192.0.2.10","vport":81,"copy_from":"shop"}`,
	`GET /farms`, `GET /farms/shop`, `GET /farms/mail`, `GET /farms/shop/summary`, `GET /farms/mail/summary`, `GET /farms/shop/status`, `GET /farms/kern/status`, `GET /farms/modules/summary`, `GET /farms/modules/lslb`,
	`PUT /farms/shop {"contimeout":"9","error503":"later","vport":82}`, `PUT /farms/mail {"newfarmname":"post","persistence":"srcip_dstport"}`, `PUT /farms/post {"newfarmname":"mail"}`,
	`PUT /farms/twin/actions {"action":"stop"}`, `PUT /farms/twin/actions {"action":"restart"}`, `PUT /farms/twin/actions {"action":"stop"}`, `PUT /farms/twin/actions {"action":"start"}`,
	`GET /farms/shop/services/web`, `PUT /farms/shop/services/web {"vhost":"b.test","queue":null}`, `POST /farms/shop/services/api/actions {"position":0}`,
	`GET /farms/shop/services/web/backends`, `GET /farms/mail/backends`, `PUT /farms/shop/services/web/backends/1 {"weight":"4","alias":null}`, `PUT /farms/mail/backends/0 {"port":2525}`,
	`PUT /farms/shop/services/web/backends/0/maintenance {"action":"maintenance","mode":"cut"}`, `PUT /farms/shop/services/web/backends/0/maintenance {"action":"up"}`, `PUT /farms/mail/backends/1/maintenance {"action":"maintenance"}`,
	`POST /farms/shop/addheader {"header":"X-A: 1"}`, `POST /farms/shop/services/web/addrequestheader {"header":"X-B: 1"}`, `GET /farms/shop/addheader`, `PUT /farms/shop/addheader/0 {"header":"X-A: 2"}`, `DELETE /farms/shop/addheader/0`,
	`POST /farms/shop/headremove {"pattern":"^X"}`, `POST /farms/shop/addresponseheader {"header":"X-C: 1"}`, `POST /farms/shop/removeresponseheader {"pattern":"^Y"}`,
	`POST /farms/shop/replacerequestheader {"header":"^A$","match":"a","replace":"b"}`, `POST /farms/shop/replacerequestheader {"header":"^B$","match":"a","replace":"b"}`, `POST /farms/shop/replacerequestheader/1/actions {"position":0}`,
	`POST /farms/shop/services/web/replaceresponseheader {"header":"^A$","match":"a","replace":"b"}`, `GET /farms/shop/services/web/replaceresponseheader`,
	`POST /farms/shop/services/web/rewriteurl {"pattern":"^/a","replace":"/b","last":true}`, `GET /farms/shop/services/web/rewriteurl`, `PUT /farms/shop/services/web/rewriteurl/0 {"replace":"/c"}`, `DELETE /farms/shop/services/web/rewriteurl/0`,
	`GET /stats/farms`, `GET /stats/farms?status=up`, `GET /stats/farms?profile=l4xnat`, `GET /stats/farms/total`, `GET /stats/farms/modules`, `GET /stats/farms/modules/lslb`, `GET /stats/farms/shop`, `GET /stats/farms/mail`, `GET /stats/farms/shop/backends`,
	`GET /stats/farms/mail/backends`, `GET /stats/farms/shop/services/web/backends`, `GET /stats/farms/shop/service/web/backends`,
	`GET /farms/shop/services/api/sessions?limit=1`, `POST /farms/shop/services/api/sessions {"id":0,"session":"joe"}`, `POST /farms/shop/services/api/sessions {"id":"0","session":"ann","ttl":90}`, `GET /farms/shop/services/api/sessions?session=c`,
	`DELETE /farms/shop/services/api/sessions?session=joe`, `DELETE /farms/shop/services/api/sessions/c`, `DELETE /farms/shop/services/api/sessions`,
	`POST /farms/mail/sessions {"id":0,"session":"192.0.2.7 . 25"}`, `GET /farms/mail/sessions`, `DELETE /farms/mail/sessions?session=192.0.2.9`, `DELETE /farms/mail/sessions`,
	`GET /connections`, `GET /connections?limit=1`, `GET /connections?farm=mail`, `GET /connections?farm=kern&backend=0`, `DELETE /connections?farm=mail&backend=1`, `DELETE /connections?farm=kern`, `DELETE /connections`,
	`GET /farms/shop/explain`, `GET /farms/kern/explain`, `POST /farms/shop/explain {"url":"/x","method":"PUT","headers":["A: 1"],"from":"192.0.2.7"}`, `GET /system/kernel`, `POST /system/kernel/clean`, `GET /system/kernel`,
	`POST /certificates {"name":"new","fqdn":"new.example","country":"DE","state":"Bayern","locality":"Ulm","organization":"Ltd","division":"Web","mail":"a@example.com"}`, `GET /certificates/new.csr`, `GET /certificates/new.csr/status`, `DELETE /certificates/new.csr`,
	`POST /certificates/site {pem}`, `PUT /certificates/site.pem {pem}`, `POST /certificates/site.pem?replace=true {pem}`, `GET /certificates/site.pem`, `GET /certificates/site.pem/status`, `GET /certificates/site.pem/info`,
	`GET /certificates/ocsp`, `PUT /certificates/ocsp {"enabled":"false"}`, `PUT /farms/shop {"listener":"https"}`, `POST /farms/shop/certificates {"file":"site.pem"}`, `POST /farms/shop/certificates/site.pem/actions {"position":0}`,
	`DELETE /farms/shop/certificates/site.pem`, `DELETE /certificates/site.pem`,
	`POST /certificates/ca/clients {ca}`, `PUT /certificates/ca/clients {ca}`, `GET /certificates/ca`, `GET /certificates/ca/clients`, `GET /certificates/ca/clients/status`, `GET /certificates/ca/clients/info`,
	`PUT /certificates/ca/clients/crl {crl}`, `DELETE /certificates/ca/clients/crl`, `DELETE /certificates/ca/clients`,
	`PUT /certificates/letsencryptz/config {"email":"a@example.com","dns_wait":30}`, `GET /certificates/letsencryptz/config`, `GET /certificates/letsencryptz`, `POST /certificates/letsencryptz {"domains":["www.sluice.test"],"farmname":"shop","test":"true"}`,
	`GET /certificates/letsencryptz/www.sluice.test.pem`, `PUT /certificates/letsencryptz/www.sluice.test.pem {"autorenewal":"true","farmname":"shop"}`, `POST /certificates/letsencryptz/www.sluice.test.pem/actions {"action":"renew","force_renewal":"true"}`,
	`DELETE /certificates/letsencryptz/www.sluice.test.pem`,
	`GET /system/version`, `GET /system/global`, `PUT /system/global {"api_names":["a.test"],"resolve_min_ttl":6}`, `POST /system/global {"resolve_min_ttl":null}`, `GET /status`, `POST /keys {"comment":"x"}`, `GET /keys`, `DELETE /keys/2`,
	`GET /config`, `GET /config?format=json`, `PUT /config?dry_run=true {yaml}`, `POST /config?comment=why {yaml}`, `PUT /config {yaml}`, `POST /config/reload`,
	`GET /history?limit=2`, `GET /history?limit=1&before=3`, `GET /history/2`, `GET /history/2/diff`, `GET /history/3/diff?from=1`, `POST /history/rollback {"revision":4}`,
	`DELETE /farms/shop/services/web/backends/1`, `DELETE /farms/shop/services/web`, `DELETE /farms/shop`,
}

func TestWhatTheAPIAnswers(t *testing.T) {
	inKernel, inEngine := &tracked{protocol: "udp"}, &tracked{protocol: "tcp"}
	a := newAppliance(t, func(d *apitest.Parts) {
		d.ACME = &orders{ACME: d.ACME}
		d.Traffic.Tracked, d.Traffic.Forwarded = inKernel, inEngine
		d.State.Warnings = func(f *farm.Farm) []string { return map[string][]string{"kern": {"nobody answers"}}[f.Name] }
	})
	for id := range uint32(8) {
		n := uint64(id)
		a.engine.farms[id] = stats.Farm{Established: 4 + n, Pending: 1, Requests: 96 + n, Responses: [5]uint64{0, 90, 3, 2, 1}, BytesIn: 2048, BytesOut: 5 << 20, Connections: 40, PacketsIn: 30, PacketsOut: 31}
		a.engine.backends[id] = stats.Backend{Established: 2 + n, Requests: 50 + n, Responses: [5]uint64{0, 10, 11, 12, 13}, ResponseNanos: 1_500_000 * (n + 1), Connects: 20, ConnectFailures: 1, BytesIn: 1 << 20, PacketsOut: 7}
	}
	a.engine.kernel = stats.Traffic{Farms: map[uint32]stats.Farm{3: {Connections: 5, BytesIn: 64}}, Backends: map[uint32]stats.Backend{6: {Connects: 5, PacketsIn: 9}}}
	a.engine.health[2] = farm.StatusDown
	a.engine.ejected = map[uint32]health.Ejection{3: {Until: clock().Add(time.Minute), Cause: health.CauseStatus}}
	own := certstest.NewAuthority(t, "root", clock())
	leaf := own.Issue("site.example")
	bodies := strings.NewReplacer("{pem}", leaf.FullPEM(), "{ca}", own.CertPEM(), "{crl}", string(own.CRL(clock(), clock().AddDate(0, 0, 7), big.NewInt(7))), "{yaml}", yamlDocument)
	types := map[string]string{"{pem}": pemBody[1], "{ca}": pemBody[1], "{crl}": "application/pkix-crl", "{yaml}": "application/yaml"}
	var all strings.Builder
	for _, request := range everyRequest {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		headers := []string{}
		if kind := types[body]; kind != "" {
			headers = []string{"Content-Type", kind}
		}
		inKernel.all, inEngine.all = nil, nil
		for _, f := range a.config().Farms {
			for _, g := range f.Groups() {
				for _, b := range g.Backends() {
					if of := map[bool]*tracked{true: inKernel, false: inEngine}[f.Name == "kern"]; f.L4 != nil {
						of.all = append(of.all, b.ID)
					}
				}
			}
		}
		r := a.do(method, path, bodies.Replace(body), headers...)
		fmt.Fprintf(&all, "%s\n  %s\n", request, strings.ReplaceAll(r.line(t), "\n", "\n  "))
	}
	golden(t, "answers", all.String())
}
