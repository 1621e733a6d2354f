package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/api"
)

// These tests make the calls of the family's Go client. It decodes responses into the types
// below, changes a field and sends everything back. By default it uses generation 3.1.

type (
	goFarm struct {
		Certificates []struct {
			File string `json:"file"`
			ID   int    `json:"id"`
		} `json:"certlist"`
		Backends      []goBackend `json:"backends"`
		Name          string      `json:"farmname"`
		CipherText    string      `json:"cipherc,omitempty"`
		Ciphers       string      `json:"ciphers,omitempty"`
		ConTimeout    int         `json:"contimeout"`
		DisableSSLv2  bool        `json:"disable_sslv2,string"`
		DisableSSLv3  bool        `json:"disable_sslv3,string"`
		DisableTLSv1  bool        `json:"disable_tlsv1,string"`
		DisableTLSv11 bool        `json:"disable_tlsv1_1,string"`
		DisableTLSv12 bool        `json:"disable_tlsv1_2,string"`
		Error414      string      `json:"error414"`
		Error500      string      `json:"error500"`
		Error501      string      `json:"error501"`
		Error503      string      `json:"error503"`
		Verbs         string      `json:"httpverb"`
		Listener      string      `json:"listener"`
		ReqTimeout    int         `json:"reqtimeout"`
		ResTimeout    int         `json:"restimeout"`
		Resurrect     int         `json:"resurrectime"`
		Location      string      `json:"rewritelocation"`
		Status        string      `json:"status"`
		VIP           string      `json:"vip"`
		VPort         int         `json:"vport"`
		Services      []goService `json:"services"`
	}
	goService struct {
		Name         string      `json:"id"`
		Guarded      bool        `json:"fgenabled,string"`
		GuardLog     string      `json:"fglog"`
		GuardScript  string      `json:"fgscript"`
		GuardSeconds int         `json:"fgtimecheck"`
		Encrypted    bool        `json:"httpsb,string"`
		LeastResp    bool        `json:"leastresp,string"`
		Persistence  string      `json:"persistence"`
		SessionID    string      `json:"sessionid"`
		TTL          int         `json:"ttl"`
		Redirect     string      `json:"redirect"`
		RedirectType string      `json:"redirecttype"`
		URL          string      `json:"urlp"`
		Host         string      `json:"vhost"`
		Backends     []goBackend `json:"backends"`
		Farm         string      `json:"farmname"`
	}
	goBackend struct {
		ID      int    `json:"id"`
		IP      string `json:"ip"`
		Port    int    `json:"port"`
		Status  string `json:"status"`
		Timeout *int   `json:"timeout,omitempty"`
		Weight  *int   `json:"weight,omitempty"`
		Farm    string `json:"farmname"`
		Service string `json:"servicename"`
	}
)

// goClient is a client of one generation.
type goClient struct {
	*appliance
	generation string
}

// call sends a request as the client does. Every status from 400 on is an error.
func (c goClient) call(method, path string, body any) (reply, string) {
	c.t.Helper()
	text := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(b)
	}
	r := c.send(method, "/zapi/v"+c.generation+"/zapi.cgi/"+path, text, "ZAPI_KEY", c.key, "Content-Type", "application/json")
	if r.status < 400 {
		return r, ""
	}
	if kind := r.header.Get("Content-Type"); kind != "application/json" {
		c.t.Fatalf("%s %s: refused as %q", method, path, kind) // the client would show the raw text
	}
	message, _ := r.body["message"].(string)
	return r, fmt.Sprintf("%v failed: %s", r.body["description"], message)
}

func (c goClient) done(method, path string, body any) reply {
	c.t.Helper()
	r, failed := c.call(method, path, body)
	if failed != "" {
		c.t.Fatalf("%s %s: %d %s", method, path, r.status, failed)
	}
	return r
}

// farm reads a farm; it returns nil if there is none.
func (c goClient) farm(name string) *goFarm {
	c.t.Helper()
	r, failed := c.call("GET", "farms/"+name, nil)
	if strings.Contains(failed, "not found") {
		return nil
	}
	var out struct {
		Params   goFarm      `json:"params"`
		Services []goService `json:"services"`
		Backends []goBackend `json:"backends"`
	}
	if err := json.Unmarshal([]byte(r.raw), &out); err != nil || failed != "" {
		c.t.Fatalf("%s: %s %v", name, failed, err)
	}
	f := &out.Params
	f.Name, f.Services, f.Backends = name, out.Services, out.Backends
	for i := range f.Services {
		f.Services[i].Farm = name
		for k := range f.Services[i].Backends {
			f.Services[i].Backends[k].Farm, f.Services[i].Backends[k].Service = name, f.Services[i].Name
		}
	}
	return f
}

type fields map[string]any

func TestTheGoClientMakesChangesAndDeletesAFarm(t *testing.T) {
	c := goClient{newAppliance(t), "3.1"}
	if c.farm("UNITTESTGO") != nil {
		t.Fatal("there is a farm already")
	}
	c.done("POST", "farms", fields{"farmname": "UNITTESTGO", "profile": "http", "vip": "192.0.2.10", "vport": 80})
	f := c.farm("UNITTESTGO")
	if f == nil || f.Listener != "http" || f.Status != "critical" || f.VIP != "192.0.2.10" || f.VPort != 80 || f.ConTimeout != 20 {
		t.Fatalf("%+v", f)
	}
	f.Error503, f.ResTimeout = "come back later", 50
	c.done("PUT", "farms/UNITTESTGO", f) // with all fields it has read
	c.done("PUT", "farms/UNITTESTGO/actions", fields{"action": "restart"})
	if f = c.farm("UNITTESTGO"); f.Error503 != "come back later" || f.ResTimeout != 50 || f.Listener != "http" {
		t.Errorf("%+v", f)
	}
	c.done("POST", "farms/UNITTESTGO/services", fields{"id": "service1"})
	s := &c.farm("UNITTESTGO").Services[0]
	if s.Name != "service1" || s.Guarded || s.GuardLog != "false" || s.GuardSeconds != 5 {
		t.Fatalf("%+v", s)
	}
	s.Encrypted, s.Persistence, s.SessionID, s.TTL, s.Host = true, "COOKIE", "AUTH_SESSION_ID", 120, `www\.example\.com`
	c.done("PUT", "farms/UNITTESTGO/services/service1", s).want(t, "params.vhost", `www\.example\.com`)
	c.done("PUT", "farms/UNITTESTGO/fg", fields{"service": "service1", "fgenabled": "false", "fglog": s.GuardLog, "fgscript": "check_http -H HOST -p PORT", "fgtimecheck": s.GuardSeconds}).
		want(t, "params.fgenabled", "false")
	if s = &c.farm("UNITTESTGO").Services[0]; !s.Encrypted || s.Persistence != "COOKIE" || s.SessionID != "AUTH_SESSION_ID" || s.TTL != 120 || s.Host != `www\.example\.com` {
		t.Errorf("%+v", s)
	}
	c.done("POST", "farms/UNITTESTGO/services/service1/backends", fields{"ip": "192.0.2.81", "port": 443})
	b := &c.farm("UNITTESTGO").Services[0].Backends[0]
	if b.IP != "192.0.2.81" || b.Port != 443 || b.Status != "up" {
		t.Fatalf("%+v", b)
	}
	weight := 3
	b.Port, b.Weight = 444, &weight
	c.done("PUT", "farms/UNITTESTGO/services/service1/backends/0", b)
	for _, action := range []fields{{"action": "maintenance", "mode": "cut"}, {"action": "up"}, {"action": "maintenance", "mode": "drain"}} {
		c.done("PUT", "farms/UNITTESTGO/services/service1/backends/0/maintenance", action)
	}
	if b = &c.farm("UNITTESTGO").Services[0].Backends[0]; b.Port != 444 || *b.Weight != 3 || b.Status != "maintenance" {
		t.Errorf("%+v", b)
	}
	c.done("DELETE", "farms/UNITTESTGO/services/service1/backends/0", nil)
	c.done("DELETE", "farms/UNITTESTGO/services/service1", nil)
	c.done("DELETE", "farms/UNITTESTGO", nil)
	if c.farm("UNITTESTGO") != nil {
		t.Error("the farm is still there")
	}
}

// The client turns an http farm into an https farm, with the fields it has read.
func TestTheGoClientMakesAnHTTPSFarm(t *testing.T) {
	c := goClient{newAppliance(t), "3.1"}
	c.done("POST", "farms", fields{"farmname": "tls", "profile": "http", "vip": "192.0.2.10", "vport": 443})
	f := c.farm("tls")
	f.Listener, f.Ciphers = "https", "highsecurity"
	c.done("PUT", "farms/tls", f)
	if f = c.farm("tls"); f.Listener != "https" || f.Ciphers != "highsecurity" || len(f.Certificates) != 1 || f.Certificates[0].File == "" {
		t.Fatalf("%+v", f)
	}
	f.DisableTLSv1, f.DisableTLSv11, f.Error503 = true, true, "later"
	c.done("PUT", "farms/tls", f)
	if f = c.farm("tls"); !f.DisableTLSv1 || !f.DisableTLSv11 || f.DisableTLSv12 || f.Error503 != "later" {
		t.Errorf("%+v", f)
	}
}

// A Kubernetes controller uses the client for layer 4 farms. It sends a farm with only its
// address and port set.
func TestTheGoClientMovesAFarmOfLayer4(t *testing.T) {
	c := goClient{newAppliance(t), "3.1"}
	const name = "kube-default-web-192-0-2-10"
	c.done("POST", "farms", fields{"farmname": name, "profile": "l4xnat", "vip": "192.0.2.10", "vport": 80})
	f := c.farm(name)
	if f.Listener != "l4xnat" || f.VIP != "192.0.2.10" || f.VPort != 80 {
		t.Fatalf("%+v", f)
	}
	c.done("PUT", "farms/"+name, goFarm{Name: name, VIP: "192.0.2.10", VPort: 81})
	c.done("POST", "farms/"+name+"/backends", fields{"ip": "192.0.2.81", "port": 30080})
	c.done("POST", "farms/"+name+"/backends", fields{"ip": "192.0.2.82", "port": 30080})
	if f = c.farm(name); f.VPort != 81 || len(f.Backends) != 2 || f.Backends[1].IP != "192.0.2.82" || f.Backends[1].Port != 30080 || f.Backends[1].Status != "up" {
		t.Fatalf("%+v", f)
	}
	c.done("DELETE", fmt.Sprintf("farms/%s/backends/%d", name, f.Backends[0].ID), nil)
	if f = c.farm(name); len(f.Backends) != 1 || f.Backends[0].IP != "192.0.2.82" {
		t.Errorf("%+v", f)
	}
	c.done("PUT", "farms/"+name, fields{"vport": "80,443"})
	c.done("GET", "farms/"+name, nil).want(t, "params.vport", "80,443") // not a number any more
}

// The client distinguishes a missing object from a failure by a word in the message.
func TestClientsOfTheFamilyReadThatSomethingIsNotFound(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for _, generation := range []string{"3.1", "3.2", "4.0"} {
		c := goClient{a, generation}
		for path, want := range map[string]string{
			"farms/none":                      "Farm not found: the farm none does not exist",
			"farms/shop/services/none":        "Service not found: the service none does not exist in the farm shop",
			"stats/farms/none":                "Farm not found: the farm none does not exist",
			"certificates/none.pem":           "ertificate",
			"nothing":                         "Path not found: the path /zapi/v" + generation + "/zapi.cgi/nothing does not exist",
			"farms/shop/services/web/nothing": "Path not found: the path ",
		} {
			r, failed := c.call("GET", path, nil)
			if r.status != 404 || !strings.Contains(failed, want) || !strings.Contains(failed, "not found") {
				t.Errorf("%s: %s: %d %s", generation, path, r.status, failed)
			}
		}
	}
	a.must(404, "GET", "/farms/none", "").want(t, "message", "the farm none does not exist") // Sluice's own wording
	r := a.send("HEAD", api.FamilyBase+"/farms/none", "", "ZAPI_KEY", a.key)
	if r.status != 404 {
		t.Errorf("HEAD: %d", r.status)
	}
}

func TestTheGoClientListsFarmsAndCertificates(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.certificate("www.pem", "www.sluice.test")
	for _, generation := range []string{"3.1", "4.0"} {
		c := goClient{a, generation}
		var farms struct {
			Params []struct {
				Name    string `json:"farmname"`
				Profile string `json:"profile"`
				Status  string `json:"status"`
				VIP     string `json:"vip"`
				VPort   int    `json:"vport,string"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(c.done("GET", "farms", nil).raw), &farms); err != nil || len(farms.Params) != 1 || farms.Params[0].VPort != 80 {
			t.Errorf("%s: %v %+v", generation, err, farms)
		}
		var certificates struct {
			Params []struct{ CN, Creation, Expiration, File, Issuer, Type string } `json:"params"`
		}
		if err := json.Unmarshal([]byte(c.done("GET", "certificates", nil).raw), &certificates); err != nil || len(certificates.Params) == 0 || certificates.Params[0].File == "" {
			t.Errorf("%s: %v %+v", generation, err, certificates)
		}
		var version struct {
			Params struct {
				Appliance string `json:"appliance_version"`
				Host      string `json:"hostname"`
				Kernel    string `json:"kernel_version"`
				Date      string `json:"system_date"`
				Version   string `json:"zevenet_version"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(c.done("GET", "system/version", nil).raw), &version); err != nil || version.Params.Version != "1.2.3" || version.Params.Kernel == "" {
			t.Errorf("%s: %v %+v", generation, err, version)
		}
	}
}
