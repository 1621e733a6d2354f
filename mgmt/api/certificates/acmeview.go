package certificates

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// OrderedItem describes an ordered certificate and its renewal.
type OrderedItem struct {
	CertificateItem
	Domains     []string    `json:"domains"`
	Wildcard    string      `json:"wildcard" enum:"true,false" doc:"true for a wildcard certificate"`
	Challenge   string      `json:"challenge" enum:"http-01,dns-01" doc:"ACME challenge type"`
	Test        string      `json:"test" enum:"true,false" doc:"true if it was issued by the staging directory, which clients do not trust"`
	Autorenewal Autorenewal `json:"autorenewal"`
	Due         time.Time   `json:"due" doc:"Time from which it is renewed"`
	Tried       *time.Time  `json:"tried" doc:"Time of the last renewal or attempt"`
	Failure     string      `json:"failure" doc:"Error of the last renewal"`
}

// Autorenewal describes the renewal of a certificate.
type Autorenewal struct {
	Status  string `json:"status" enum:"true,false"`
	Farm    string `json:"farm" doc:"Farm on port 80 that serves the challenge"`
	VIP     string `json:"vip" doc:"Address on which the challenge is served on port 80"`
	Force   string `json:"force" enum:"true,false" doc:"Kept for compatibility; the daily run renews only certificates that are due"`
	Restart string `json:"restart" enum:"true,false" doc:"Kept for compatibility; farms use a renewed certificate immediately without a restart"`
}

// ACMESettings holds the account and the authority for orders.
type ACMESettings struct {
	Email     string `json:"email" doc:"Contact address for the certificate authority; setting it accepts the authority's terms of service"`
	Directory string `json:"directory" doc:"URL of the ACME directory"`
	Staging   string `json:"staging" doc:"URL of the ACME staging directory"`
	CA        string `json:"ca" doc:"CA list for verifying the ACME directories; empty uses the system's"`
	Hook      string `json:"hook" doc:"Program in the hooks folder of the data directory that creates DNS records; empty: dns-01 is unavailable"`
	DNSWait   int    `json:"dns_wait" doc:"Maximum time in seconds until every name server of the zone has the TXT record"`
	// DNSServers is null if the name servers of the zone are queried.
	DNSServers []string `json:"dns_servers" nullable:"true" doc:"Name servers (address:port) queried for the record instead of those of its zone"`
}

func orderedItem(c *rest.Call, v acme.View) OrderedItem {
	out := OrderedItem{
		CertificateItem: certificateItem(c, v.View), Domains: v.Domains, Test: rest.Truth(v.Test), Challenge: string(v.Challenge),
		Wildcard:    rest.Truth(slices.ContainsFunc(v.Domains, func(d string) bool { return strings.HasPrefix(d, "*") })),
		Autorenewal: Autorenewal{Status: rest.Truth(v.Renewal.Auto), Farm: v.Renewal.Farm, Force: rest.Truth(v.Renewal.Force), Restart: rest.Truth(v.Renewal.Restart)},
		Due:         v.Due.UTC(), Tried: timeOrNull(v.Tried), Failure: c.Discreet(v.Failure),
	}
	if _, err := c.Visible(v.Renewal.Farm); err != nil {
		out.Autorenewal.Farm = "" // of another group, or deleted
	}
	if v.Renewal.VIP.IsValid() {
		out.Autorenewal.VIP = v.Renewal.VIP.String()
	}
	return out
}

// orderFields, renewalFields, renewFields and acmeFields are the bodies of requests about
// ordered certificates.
type (
	orderFields   struct{}
	renewalFields struct{}
	renewFields   struct{}
	acmeFields    struct{}
)

func truthField(name, about string, options ...string) field.Param {
	return field.Param{Name: name, PossibleValues: []string{"true", "false"}, Options: append([]string{"non_blank"}, options...), Description: about}
}

func targetFields() []field.Param {
	return []field.Param{
		rest.Optional("farmname", "Running http farm on port 80 that the domains resolve to."),
		rest.Optional("vip", "Address that the domains resolve to, instead of farmname; if no farm listens on its port 80, a temporary one does during the order."),
	}
}

// Params lists the fields for OpenAPI.
func (orderFields) Params() []field.Param {
	return append([]field.Param{
		{Name: "domains", Format: "domain", Options: []string{"non_blank", "required", "list"}, Description: "Host names of the certificate; it is named after the first one. Wildcards (e.g. *.example.com) need dns-01."},
		{Name: "challenge", PossibleValues: []string{string(acme.HTTP01), string(acme.DNS01)}, Description: "ACME challenge: http-01 on port 80, or dns-01 with TXT records created by the hook. Defaults to http-01."},
		truthField("test", "Use the staging directory."),
	}, targetFields()...)
}

// Params lists the fields for OpenAPI.
func (renewalFields) Params() []field.Param {
	return append([]field.Param{
		truthField("autorenewal", "Renew the certificate automatically.", "required"), truthField("force_renewal", "Stored; see autorenewal.force."),
		truthField("restart", "Stored without effect; no restart is needed."),
	}, targetFields()...)
}

// Params lists the fields for OpenAPI.
func (renewFields) Params() []field.Param {
	return append([]field.Param{
		{Name: "action", PossibleValues: []string{"renew"}, Options: []string{"non_blank", "required"}, Description: "Action to perform."},
		truthField("force_renewal", "Renew the certificate even if it is not due."), truthField("restart", "Stored without effect; no restart is needed."),
	}, targetFields()...)
}

// Params lists the fields for OpenAPI.
func (acmeFields) Params() []field.Param {
	return []field.Param{
		rest.Optional("email", "Contact address for the certificate authority, required before the first order. Setting it accepts the authority's terms of service."),
		rest.Optional("directory", "URL of the ACME directory; empty uses Let's Encrypt."),
		rest.Optional("staging", "URL of the ACME staging directory; empty uses that of Let's Encrypt."),
		rest.Optional("ca", "CA list for verifying the ACME directories; empty uses the system's."),
		rest.Optional("hook", "Program in the hooks folder of the data directory that creates the TXT records for dns-01; empty disables dns-01."),
		{Name: "dns_wait", Interval: fmt.Sprintf("1,%d", acme.MaxDNSWait), Options: []string{"null"}, Description: "Maximum propagation time of the TXT record, in seconds; defaults to 120."},
		{Name: "dns_servers", Format: "address:port", Options: []string{"null", "list"}, Description: "Name servers to query for the TXT record instead of those of its zone."},
	}
}
