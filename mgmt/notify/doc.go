// Package notify tells operators what they want to hear of: backends and farms that go
// down or come up, certificates that are about to expire, and what others found. It sends
// mails, and messages to webhooks, and says what is for syslog and for scripts.
//
//	LookBackends, LookCertificates, Hear ─┬► digest ─► queue ─► mgmt/notify/mail
//	                                      └► one digest and queue each ─► mgmt/notify/webhook
//	ToSyslog, ToScripts ◄─ who tells of an event
//
// Each of the four ways has a Choice: kinds of events, and the least severity.
//
// A state has to last before it is told (avoidflappingtime), one that turns again and
// again is told of when it has settled. What happens first after a quiet time is told at
// once, what follows in messages that are apart: GatherTime the second one, mails
// QuietTime from then on. What waits is in a bounded queue, is tried again with growing
// pauses for a day, outlives the process, and holds up nobody. There is a goroutine for a
// queue only while something waits in it.
//
// Without a mail server no mail is sent, and the answers of the API say so. The settings
// are a document of the store, not of the configuration: they hold a password and secrets,
// which are sealed, and belong to one node. What copies a configuration to another node
// copies none of them.
package notify
