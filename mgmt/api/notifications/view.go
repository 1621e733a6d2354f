package notifications

import (
	"fmt"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// hidden stands for a stored password.
const hidden = "***"

// AlertView describes an alert.
type AlertView struct {
	Alert       string `json:"alert"`
	Description string `json:"description"`
	Status      string `json:"status" enum:"enabled,disabled"`
	Active      string `json:"active" enum:"true,false" doc:"Whether the appliance can notice it"`
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
	Password   string   `json:"password" doc:"*** when one is kept; it is never shown"`
	From       string   `json:"from"`
	To         string   `json:"to" doc:"Recipients, with commas between them"`
	Recipients []string `json:"recipients"`
	TLS        string   `json:"tls" enum:"true,false"`
	CA         string   `json:"ca"`
	Kinds      []string `json:"kinds" doc:"The events that are mailed; none means those of the alerts"`
	Severity   string   `json:"severity" enum:"info,warning,error" doc:"The least severity that is mailed"`
	Sent       int      `json:"sent" doc:"Mails that left since the start"`
	Waiting    int      `json:"waiting"`
	Lost       int      `json:"lost" doc:"Mails that were given up since the start"`
}

// TestView is the result of a test mail or message.
type TestView struct {
	Action string `json:"action" enum:"test"`
	Said   string `json:"answer" doc:"What the mail server said, or the status a webhook answered with"`
}

// BackendsView holds the alert settings for backends.
type BackendsView struct {
	Prefix        string `json:"prefix"`
	AvoidFlapping int    `json:"avoidflappingtime" doc:"Seconds a state must last before it is told"`
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

var prefixField = rest.Optional("prefix", fmt.Sprintf("Begins the subjects of the mails: at most %d letters, digits, blanks, _, - and brackets.", notify.MaxPrefix))

// Params are the fields of the body.
func (testFields) Params() []validate.Param {
	return []validate.Param{{Name: "action", PossibleValues: []string{"test"}, Options: []string{"non_blank", "required"}, Description: "Sends one now; the answer says what was said about it."}}
}

// Params are the fields of the body.
func (actionFields) Params() []validate.Param {
	return []validate.Param{{Name: "action", PossibleValues: []string{"enable", "disable"}, Options: []string{"non_blank", "required"}, Description: "What to do with the alert."}}
}

// Params are the fields of the body.
func (emailFields) Params() []validate.Param {
	return append([]validate.Param{
		rest.Optional("server", "Mail server, as host or host:port; without a port 25, with tls 587. Blank: nothing is sent."),
		rest.Optional("user", "Who logs in there; blank: nobody."),
		rest.Optional("password", "Their password. It is kept sealed and never shown; blank forgets it."),
		rest.Optional("from", "Address mails come from."),
		{Name: "to", Options: []string{"list", "null"}, Description: fmt.Sprintf("Addresses mails go to, at most %d; a text with commas is a list, too.", notify.MaxRecipients)},
		{Name: "tls", PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}, Description: "Whether the connection is secured: from the first byte on port 465, by STARTTLS on others."},
		rest.Optional("ca", "List of authorities the server is verified by; blank: those of the system."),
	}, choiceParams("none means those of the alerts")...)
}

// Params are the fields of the body.
func (backendFields) Params() []validate.Param {
	return []validate.Param{prefixField, {Name: "avoidflappingtime", Interval: fmt.Sprintf("0,%d", notify.MaxAvoidFlapping), Options: []string{"null"},
		Description: fmt.Sprintf("Seconds a state must last before it is told; %d when unset.", notify.DefaultAvoidFlapping)}}
}

// Params are the fields of the body.
func (clusterFields) Params() []validate.Param { return []validate.Param{prefixField} }

// Params are the fields of the body.
func (interfaceFields) Params() []validate.Param {
	return []validate.Param{{Name: "interfaces", Options: []string{"list", "null"}, Description: "Names of the interfaces that are told of; none means all."}}
}
