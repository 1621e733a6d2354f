package event

import (
	"fmt"
	"slices"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events, as used in names of scripts and in settings.
const (
	ApplianceStart  Kind = "appliance-start"
	ApplianceStop   Kind = "appliance-stop"
	FarmStart       Kind = "farm-start"
	FarmStop        Kind = "farm-stop"
	FarmStatus      Kind = "farm-status"
	BackendUp       Kind = "backend-up"
	BackendDown     Kind = "backend-down"
	LimitReached    Kind = "limit-reached"
	LimitOver       Kind = "limit-over"
	RevisionApplied Kind = "revision-applied"
	RevisionUndone  Kind = "revision-undone"
	EngineRestart   Kind = "engine-restart"
	Certificate     Kind = "certificate"
	RenewalFailed   Kind = "renewal-failed"
	Activation      Kind = "activation"
	ListUpdated     Kind = "list-updated"
	ZoneKey         Kind = "zone-key"
)

// KindInfo describes a kind.
type KindInfo struct {
	Kind Kind
	// Severities are the possible severities of its events, the lowest first.
	Severities  []Severity
	Description string
	// counted are the words for one event, and for several.
	counted [2]string
}

// catalogue declares every kind once.
var catalogue = []KindInfo{
	{ApplianceStart, []Severity{Info}, "The appliance has started: the stored configuration is in force", [2]string{"1 start of the appliance", "%d starts of the appliance"}},
	{ApplianceStop, []Severity{Info}, "An orderly stop of the appliance began", [2]string{"1 stop of the appliance", "%d stops of the appliance"}},
	{FarmStart, []Severity{Info}, "A farm was created, or started", [2]string{"1 farm starts", "%d farms start"}},
	{FarmStop, []Severity{Info}, "A farm was stopped, or deleted", [2]string{"1 farm stops", "%d farms stop"}},
	{FarmStatus, []Severity{Info, Warning, Error}, "A farm that runs has another status: up and maintenance are info, problem is a warning, critical and down are errors", [2]string{"1 farm has another status", "%d farms have another status"}},
	{BackendDown, []Severity{Warning}, "A backend is not usable, for whatever reason but maintenance", [2]string{"1 backend is down", "%d backends are down"}},
	{BackendUp, []Severity{Info}, "A backend is usable again", [2]string{"1 backend is up again", "%d backends are up again"}},
	{LimitReached, []Severity{Info, Warning}, "A limit was reached: connections of a farm or backend, descriptors, tracked connections (warning), requests of clients (info); once until it is over", [2]string{"1 limit is reached", "%d limits are reached"}},
	{LimitOver, []Severity{Info}, "A limit was not met for five minutes, that of requests of clients for an hour, with how many were refused meanwhile", [2]string{"1 limit is no longer reached", "%d limits are no longer reached"}},
	{RevisionApplied, []Severity{Info}, "A change is in force and stored", [2]string{"1 change", "%d changes"}},
	{RevisionUndone, []Severity{Info, Warning}, "A pending change was taken back (info), or went back by itself (warning)", [2]string{"1 change is undone", "%d changes are undone"}},
	{EngineRestart, []Severity{Warning}, "Another engine serves the farms: connections of the one before ended with it", [2]string{"1 restart of the engine", "%d restarts of the engine"}},
	{Certificate, []Severity{Warning, Error}, "A certificate expires within 15, 7 or 1 days (warning), or has expired (error)", [2]string{"1 certificate expires", "%d certificates are about to expire or have expired"}},
	{RenewalFailed, []Severity{Warning, Error}, "A certificate that is due could not be renewed by ACME (error: it lasts for 7 days at most); once until it is renewed, and again when that becomes an error", [2]string{"1 certificate is not renewed", "%d certificates are not renewed"}},
	{Activation, []Severity{Warning, Error}, "The activation certificate expires within 15, 7 or 1 days (warning), or has expired (error)", [2]string{"the activation certificate expires", "%d times the activation certificate expires"}},
	{ListUpdated, []Severity{Info}, "A list that farms go by was replaced, or deleted: the GeoIP database", [2]string{"1 list is updated", "%d lists are updated"}},
	{ZoneKey, []Severity{Info, Warning}, "A zone has a next key, made because of key_lifetime, whose DS record its parent zone lacks (warning; again after each week), or that key signs (info)", [2]string{"1 key of a zone is replaced", "%d times keys of zones are replaced"}},
}

// Catalogue returns the descriptions of all kinds.
func Catalogue() []KindInfo { return slices.Clone(catalogue) }

// Kinds lists all of them.
func Kinds() []Kind {
	out := make([]Kind, len(catalogue))
	for i := range catalogue {
		out[i] = catalogue[i].Kind
	}
	return out
}

// Count returns the number of events of a kind in words.
func (k Kind) Count(n int) string {
	i := slices.IndexFunc(catalogue, func(info KindInfo) bool { return info.Kind == k })
	switch {
	case i < 0:
		return fmt.Sprintf("%d of %s", n, k)
	case n == 1:
		return catalogue[i].counted[0]
	}
	return fmt.Sprintf(catalogue[i].counted[1], n)
}
