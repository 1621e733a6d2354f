// Package notify sends notifications to operators: backends and farms that go down or come
// up, expiring certificates, and events found by other packages. It sends mails and webhook
// messages, and selects events for syslog and scripts.
//
//	LookBackends, LookCertificates, Hear ─┬► digest ─► queue ─► mgmt/notify/mail
//	                                      └► one digest and queue each ─► mgmt/notify/webhook
//	ToSyslog, ToScripts ◄─ dispatcher of events
//
// Each of the four channels has a Choice: kinds of events and a minimum severity.
//
// A state must last before it is reported (avoidflappingtime); a flapping one is reported
// after it has settled. The first event after a quiet period is sent at once. Later ones
// are grouped: the second message follows after GatherTime, further mails after QuietTime
// each. Pending messages are in a bounded queue and retried for a day with growing pauses.
// They survive restarts and never block anything. A queue has a goroutine only while it is
// not empty.
//
// Without a mail server no mail is sent, and API responses say so. The settings are a
// document of the store, not part of the configuration, because they contain sealed secrets
// and belong to one node. Copying a configuration to another node does not copy them.
package notify
