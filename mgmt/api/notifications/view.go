package notifications

import (
	"fmt"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// hidden stands for a stored password.
const hidden = "***"

// AlertView describes an alert.
type AlertView struct {
	Alert       string `json:"alert"`
	Description string `json:"description"`
	Status      string `json:"status" enum:"enabled,disabled"`
	Active      string `json:"active" enum:"true,false" doc:"true if the appliance can detect it"`
}

func alertView(a notify.Alert) AlertView {
	status := "disabled"
	if a.Enabled {
		status = "enabled"
	}
	return AlertView{a.Name, a.Description, status, rest.Truth(a.Active)}
}

// EmailView describes the mail server and the delivery of mails.
type EmailView struct {
	Server     string   `json:"server"`
	User       string   `json:"user"`
	Password   string   `json:"password" doc:"*** if one is stored; it is never shown"`
	From       string   `json:"from"`
	To         string   `json:"to" doc:"Recipients, separated by commas"`
	Recipients []string `json:"recipients"`
	TLS        string   `json:"tls" enum:"true,false"`
	CA         string   `json:"ca"`
	Kinds      []string `json:"kinds" doc:"Events to email; none means those of the alerts"`
	Severity   string   `json:"severity" enum:"info,warning,error" doc:"Minimum severity to email"`
	Sent       int      `json:"sent" doc:"Emails sent since startup"`
	Waiting    int      `json:"waiting"`
	Lost       int      `json:"lost" doc:"Emails discarded since startup"`
}

// TestView is the result of a test mail or message.
type TestView struct {
	Action string `json:"action" enum:"test"`
	Said   string `json:"answer" doc:"Response of the mail server, or HTTP status of the webhook"`
}

// BackendsView holds the alert settings for backends.
type BackendsView struct {
	Prefix        string `json:"prefix"`
	AvoidFlapping int    `json:"avoidflappingtime" doc:"Minimum duration of a state before it is reported, in seconds"`
}

// ClusterView holds the alert settings for the cluster.
type ClusterView struct {
	Prefix string `json:"prefix"`
}

// InterfacesView lists the interfaces with alerts.
type InterfacesView struct {
	Interfaces []string `json:"interfaces"`
}

type (
	testFields      struct{}
	actionFields    struct{}
	emailFields     struct{}
	backendFields   struct{}
	clusterFields   struct{}
	interfaceFields struct{}
)

var prefixField = rest.Optional("prefix", fmt.Sprintf("Prefix of the email subjects: at most %d letters, digits, spaces, _, - and brackets.", notify.MaxPrefix))

// Params are the fields of the body.
func (testFields) Params() []field.Param {
	return []field.Param{{Name: "action", PossibleValues: []string{"test"}, Options: []string{"non_blank", "required"}, Description: "Send a test email now; the response contains the result."}}
}

// Params are the fields of the body.
func (actionFields) Params() []field.Param {
	return []field.Param{{Name: "action", PossibleValues: []string{"enable", "disable"}, Options: []string{"non_blank", "required"}, Description: "Action for the alert."}}
}

// Params are the fields of the body.
func (emailFields) Params() []field.Param {
	return append([]field.Param{
		rest.Optional("server", "Mail server as host or host:port; the default port is 25, or 587 with tls. Empty disables sending."),
		rest.Optional("user", "User name for the mail server; empty disables authentication."),
		rest.Optional("password", "Password for the mail server; stored encrypted and never shown. Empty removes it."),
		rest.Optional("from", "Sender address of the emails."),
		{Name: "to", Options: []string{"list", "null"}, Description: fmt.Sprintf("Recipient addresses, at most %d, as a list or separated by commas.", notify.MaxRecipients)},
		{Name: "tls", PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}, Description: "Encrypt the connection: implicit TLS on port 465, STARTTLS on other ports."},
		rest.Optional("ca", "CA list for verifying the mail server; empty uses the system's."),
	}, choiceParams("none means those of the alerts")...)
}

// Params are the fields of the body.
func (backendFields) Params() []field.Param {
	return []field.Param{prefixField, {Name: "avoidflappingtime", Interval: fmt.Sprintf("0,%d", notify.MaxAvoidFlapping), Options: []string{"null"},
		Description: fmt.Sprintf("Minimum duration of a state before it is reported, in seconds; defaults to %d.", notify.DefaultAvoidFlapping)}}
}

// Params are the fields of the body.
func (clusterFields) Params() []field.Param { return []field.Param{prefixField} }

// Params are the fields of the body.
func (interfaceFields) Params() []field.Param {
	return []field.Param{{Name: "interfaces", Options: []string{"list", "null"}, Description: "Network interfaces to report; none means all."}}
}
