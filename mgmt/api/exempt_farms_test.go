package api_test

// exemptOfFarms continues exempt with operations on farms. They are listed individually, so
// that a new one below /farms needs a reason, too.
var exemptOfFarms = map[string][]string{
	"says which traffic is carried, and how: its addresses are checked when it is published, and it listens for clients of farms alone": {
		"POST /farms", "PUT /farms/{farm}", "DELETE /farms/{farm}",
		"PUT /farms/{farm}/actions", "POST /farms/{farm}/services", "PUT /farms/{farm}/services/{service}",
		"DELETE /farms/{farm}/services/{service}", "POST /farms/{farm}/services/{service}/actions",
	},
	"says where traffic of clients goes: a backend gets what clients send, and no key or session of the API": {
		"POST /farms/{farm}/backends", "PUT /farms/{farm}/backends/{backend}", "DELETE /farms/{farm}/backends/{backend}",
		"PUT /farms/{farm}/backends/{backend}/maintenance", "POST /farms/{farm}/services/{service}/backends", "PUT /farms/{farm}/services/{service}/backends/{backend}",
		"DELETE /farms/{farm}/services/{service}/backends/{backend}", "PUT /farms/{farm}/services/{service}/backends/{backend}/maintenance",
	},
	"rewrites requests and responses of farms: the API is behind none": {
		"POST /farms/{farm}/addheader", "PUT /farms/{farm}/addheader/{rule}", "DELETE /farms/{farm}/addheader/{rule}",
		"POST /farms/{farm}/services/{service}/addrequestheader", "PUT /farms/{farm}/services/{service}/addrequestheader/{rule}", "DELETE /farms/{farm}/services/{service}/addrequestheader/{rule}",
		"POST /farms/{farm}/headremove", "PUT /farms/{farm}/headremove/{rule}", "DELETE /farms/{farm}/headremove/{rule}",
		"POST /farms/{farm}/services/{service}/removerequestheader", "PUT /farms/{farm}/services/{service}/removerequestheader/{rule}", "DELETE /farms/{farm}/services/{service}/removerequestheader/{rule}",
		"POST /farms/{farm}/replacerequestheader", "PUT /farms/{farm}/replacerequestheader/{rule}", "DELETE /farms/{farm}/replacerequestheader/{rule}",
		"POST /farms/{farm}/replacerequestheader/{rule}/actions", "POST /farms/{farm}/addresponseheader", "PUT /farms/{farm}/addresponseheader/{rule}",
		"DELETE /farms/{farm}/addresponseheader/{rule}", "POST /farms/{farm}/removeresponseheader", "PUT /farms/{farm}/removeresponseheader/{rule}",
		"DELETE /farms/{farm}/removeresponseheader/{rule}", "POST /farms/{farm}/replaceresponseheader", "PUT /farms/{farm}/replaceresponseheader/{rule}",
		"DELETE /farms/{farm}/replaceresponseheader/{rule}", "POST /farms/{farm}/replaceresponseheader/{rule}/actions", "POST /farms/{farm}/services/{service}/replacerequestheader",
		"PUT /farms/{farm}/services/{service}/replacerequestheader/{rule}", "DELETE /farms/{farm}/services/{service}/replacerequestheader/{rule}", "POST /farms/{farm}/services/{service}/replacerequestheader/{rule}/actions",
		"POST /farms/{farm}/services/{service}/addresponseheader", "PUT /farms/{farm}/services/{service}/addresponseheader/{rule}", "DELETE /farms/{farm}/services/{service}/addresponseheader/{rule}",
		"POST /farms/{farm}/services/{service}/removeresponseheader", "PUT /farms/{farm}/services/{service}/removeresponseheader/{rule}", "DELETE /farms/{farm}/services/{service}/removeresponseheader/{rule}",
		"POST /farms/{farm}/services/{service}/replaceresponseheader", "PUT /farms/{farm}/services/{service}/replaceresponseheader/{rule}", "DELETE /farms/{farm}/services/{service}/replaceresponseheader/{rule}",
		"POST /farms/{farm}/services/{service}/replaceresponseheader/{rule}/actions", "POST /farms/{farm}/services/{service}/rewriteurl", "PUT /farms/{farm}/services/{service}/rewriteurl/{rule}",
		"DELETE /farms/{farm}/services/{service}/rewriteurl/{rule}", "POST /farms/{farm}/services/{service}/rewriteurl/{rule}/actions",
	},
	"answers queries of the DNS: keys of zones sign these answers alone": {
		"POST /farms/{farm}/zones", "PUT /farms/{farm}/zones/{zone}", "DELETE /farms/{farm}/zones/{zone}",
		"POST /farms/{farm}/zones/{zone}/resources", "PUT /farms/{farm}/zones/{zone}/resources/{resource}", "DELETE /farms/{farm}/zones/{zone}/resources/{resource}",
		"POST /farms/{farm}/zones/{zone}/keys", "PUT /farms/{farm}/zones/{zone}/keys/{key}", "DELETE /farms/{farm}/zones/{zone}/keys/{key}",
		"POST /farms/{farm}/zones/{zone}/resources/bulk", "POST /farms/{farm}/zones/{zone}/import",
	},
	"assigns a certificate that is there: which ones a caller may assign is checked with the change (rest.Call.permitAccess)": {
		"POST /farms/{farm}/certificates", "DELETE /farms/{farm}/certificates/{certificate}", "POST /farms/{farm}/certificates/{certificate}/actions",
	},
	"links a check that is there: one that starts a program needs a confirmed session where its command is set (rest.Call.permitPrograms)": {
		"POST /farms/{farm}/fg", "DELETE /farms/{farm}/fg/{check}", "POST /farms/{farm}/services/{service}/fg",
		"DELETE /farms/{farm}/services/{service}/fg/{check}",
	},
	"is about sessions of clients with backends, not of users with the API": {
		"POST /farms/{farm}/sessions", "DELETE /farms/{farm}/sessions", "DELETE /farms/{farm}/sessions/{session}",
		"POST /farms/{farm}/services/{service}/sessions", "DELETE /farms/{farm}/services/{service}/sessions", "DELETE /farms/{farm}/services/{service}/sessions/{session}",
	},
}
