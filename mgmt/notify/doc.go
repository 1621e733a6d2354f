// Package notify tells operators what they want to hear of: backends that go down or come
// up, certificates that are about to expire. It sends mails, and messages to webhooks.
//
//	LookBackends, LookCertificates ─┬► digest ─► queue ─► mgmt/notify/mail
//	                                └► one digest and queue each ─► mgmt/notify/webhook
//
// A state has to last before it is told (avoidflappingtime), one that turns again and
// again is told of when it has settled, and what happens at about
// the same time goes in one message: the first after GatherTime, other mails not more often
// than every QuietTime. What waits is in a bounded queue, is tried again with growing
// pauses for a day, outlives the process, and holds up nobody. There is a goroutine for a
// queue only while something waits in it.
//
// Without a mail server no mail is sent, and the answers of the API say so. The settings
// are a document of the store, not of the configuration: they hold a password and secrets,
// which are sealed, and belong to one node.
package notify
