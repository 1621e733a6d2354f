package http1

import "github.com/sluicelb/sluice/core/farm"

// The verbs of the farm's sets. CONNECT has none: Parse refuses it.
const (
	VerbOther Verb = iota
	VerbGET
	VerbPOST
	VerbHEAD
	VerbPUT
	VerbPATCH
	VerbDELETE
	VerbOPTIONS
	VerbTRACE
	VerbLOCK
	VerbUNLOCK
	VerbPROPFIND
	VerbPROPPATCH
	VerbSEARCH
	VerbMKCOL
	VerbMOVE
	VerbCOPY
	VerbMKACTIVITY
	VerbCHECKOUT
	VerbMERGE
	VerbREPORT
	VerbSUBSCRIBE
	VerbUNSUBSCRIBE
	VerbNOTIFY
	VerbBPROPFIND
	VerbBPROPPATCH
	VerbPOLL
	VerbBMOVE
	VerbBCOPY
	VerbBDELETE
	VerbRPCInData
	VerbRPCOutData
	numVerbs
)

var verbNames = [numVerbs]string{
	VerbGET:         "GET",
	VerbPOST:        "POST",
	VerbHEAD:        "HEAD",
	VerbPUT:         "PUT",
	VerbPATCH:       "PATCH",
	VerbDELETE:      "DELETE",
	VerbOPTIONS:     "OPTIONS",
	VerbTRACE:       "TRACE",
	VerbLOCK:        "LOCK",
	VerbUNLOCK:      "UNLOCK",
	VerbPROPFIND:    "PROPFIND",
	VerbPROPPATCH:   "PROPPATCH",
	VerbSEARCH:      "SEARCH",
	VerbMKCOL:       "MKCOL",
	VerbMOVE:        "MOVE",
	VerbCOPY:        "COPY",
	VerbMKACTIVITY:  "MKACTIVITY",
	VerbCHECKOUT:    "CHECKOUT",
	VerbMERGE:       "MERGE",
	VerbREPORT:      "REPORT",
	VerbSUBSCRIBE:   "SUBSCRIBE",
	VerbUNSUBSCRIBE: "UNSUBSCRIBE",
	VerbNOTIFY:      "NOTIFY",
	VerbBPROPFIND:   "BPROPFIND",
	VerbBPROPPATCH:  "BPROPPATCH",
	VerbPOLL:        "POLL",
	VerbBMOVE:       "BMOVE",
	VerbBCOPY:       "BCOPY",
	VerbBDELETE:     "BDELETE",
	VerbRPCInData:   "RPC_IN_DATA",
	VerbRPCOutData:  "RPC_OUT_DATA",
}

// String returns the method, or "" for VerbOther.
func (v Verb) String() string { return verbNames[v] }

// VerbMaskOf returns the verbs of a farm's set, as defined by the Zevenet directive xHTTP.
// Unknown set names yield an empty set. Only VerbsAny holds VerbOther. CONNECT, part of the
// Microsoft extensions there, is refused beforehand.
func VerbMaskOf(set farm.VerbSet) VerbMask {
	const (
		standard = 1<<VerbGET | 1<<VerbPOST | 1<<VerbHEAD
		extended = standard | 1<<VerbPUT | 1<<VerbPATCH | 1<<VerbDELETE
		webDAV   = extended | 1<<VerbOPTIONS | 1<<VerbTRACE | 1<<VerbLOCK | 1<<VerbUNLOCK |
			1<<VerbPROPFIND | 1<<VerbPROPPATCH | 1<<VerbSEARCH | 1<<VerbMKCOL | 1<<VerbMOVE |
			1<<VerbCOPY | 1<<VerbMKACTIVITY | 1<<VerbCHECKOUT | 1<<VerbMERGE | 1<<VerbREPORT
		microsoft = webDAV | 1<<VerbSUBSCRIBE | 1<<VerbUNSUBSCRIBE | 1<<VerbNOTIFY |
			1<<VerbBPROPFIND | 1<<VerbBPROPPATCH | 1<<VerbPOLL | 1<<VerbBMOVE | 1<<VerbBCOPY | 1<<VerbBDELETE
		rpc = microsoft | 1<<VerbRPCInData | 1<<VerbRPCOutData
	)
	switch set {
	case farm.VerbsStandard:
		return standard
	case farm.VerbsExtended:
		return extended
	case farm.VerbsWebDAV:
		return webDAV
	case farm.VerbsMSWebDAV:
		return microsoft
	case farm.VerbsMSRPCExt:
		return rpc
	case farm.VerbsOptionsHTTP:
		return extended | 1<<VerbOPTIONS
	case farm.VerbsAny:
		return 1<<numVerbs - 1
	}
	return 0
}
