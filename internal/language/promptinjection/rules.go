package promptinjection

// rule is what makes a statement a directive: at least one feature of each group, and none of unless.
type rule struct {
	kind   Directive
	groups [][]feature
	unless []feature
}

func (r rule) fits(f *features) bool { return f.fits(r.groups) && !f.any(r.unless) }

// of is a group: one of these features.
func of(one ...feature) []feature { return one }

func groups(all ...[]feature) [][]feature { return all }

// Groups that several rules use.
var (
	asked    = of(wish, must, imperative)                             // somebody is to do it
	moods    = of(wish, must, imperative, grant, able, assumed, tell) // either
	ordinary = of(work, household, project)                           // a job, family or code, where people do such things
	spoken   = of(you, imperative, plea, tellsReader)                 // to the reader
	told     = of(wish, must, pretend)                                // what the reader is to do
	powers   = of(risky, unasked, unchecked, all, look, send, money)  // what an assistant that may do it has power by
	aimed    = of(reader, readerActs, tellsReader, here, you)         // at an assistant or this system
)

// rules are looked at in order; the first that fits names the kind.
var rules = []rule{
	{Override, groups(of(mark)), nil},
	{Override, groups(of(instructions), of(drop), of(disguised, newest, earlier, all, reader, you, system)), of(project)},
	{Override, groups(of(role), of(you, reader, must, assumed, unbound)), of(work)},
	{Override, groups(of(unbound), of(reader, here, reply, role, talk)), of(style)},
	{Override, groups(of(reader), of(instructions), of(off)), nil},
	{Override, groups(of(maker)), of(work)},
	{Override, groups(of(blob), of(obey, run, tell)), of(project)},
	{Override, groups(of(pretend), of(reader)), nil},
	{Override, groups(of(rate)), nil},

	{Memory, groups(of(memory), of(permanent, precedence)), nil},
	{Memory, groups(of(earlier, newest), of(precedence)), nil},
	{Memory, groups(of(memory), of(drop), of(wish, must, newest, all, you, imperative)), ordinary},
	{Memory, groups(of(memory, earlier), of(void), of(memory, all, newest, must, wish, precedence, talk)), of(project)},
	{Memory, groups(of(earlier, memory), of(void), of(drop, able, must)), of(project)},
	{Memory, groups(of(memory), of(keep), of(must, imperative)), nil},
	{Memory, groups(of(unrecorded), of(talk, memory, must, all, you, private)), of(project)},

	{
		Credential,
		groups(of(secret), of(send, tell, talk, arrive), of(able, must, wish, grant, all, unchecked, assumed, reader, onBehalf, imperative)),
		of(never),
	},
	{Credential, groups(of(secret), of(mail, link, links, outside)), of(never)},
	{Payment, groups(of(account)), nil},
	{Payment, groups(of(payee)), nil},
	{Payment, groups(of(money), of(unasked)), of(project)},
	{Payment, groups(of(money), of(unchecked, secret), of(grant, assumed, reader, amount, onBehalf, wish)), of(household)},
	{Payment, groups(of(money), of(unchecked, secret), of(all, must)), ordinary},
	{Payment, groups(of(money), of(grant, assumed), of(all, amount, reader)), ordinary},
	{Payment, groups(of(purse), of(unchecked, unasked, reader), of(grant, able, wish, must, all, reader, unasked, onBehalf, assumed)), nil},

	{Exfiltrate, groups(of(talk), of(send, arrive, all, tell, wish, must), of(mail, outside)), ordinary},
	{Exfiltrate, groups(of(talk, all), of(mail)), nil},
	{Exfiltrate, groups(of(mail), of(wish, must, all, unchecked, able, grant, arrive, look, here)), of(contact)},
	{Exfiltrate, groups(of(send), of(talk), of(all), asked), ordinary},
	{
		Exfiltrate,
		groups(
			of(link),
			of(talk, image, grant, run, reader, all, must),
			of(send, arrive, all, must, wish, grant, run, open, tell, image, reader),
		),
		of(project),
	},
	{OtherUsers, groups(of(others), of(private, talk), of(look, send), moods), of(work)},
	{OtherUsers, groups(of(others), of(private), of(look, send), of(here, unchecked, status, reader, all)), of(work)},
	{OtherUsers, groups(of(others), of(grant, status, memory), of(look, private)), of(work)},
	{OtherUsers, groups(of(others), of(private), of(must)), ordinary},

	{OtherUsers, groups(of(peers), of(personal), of(look), of(able, must, grant, status, power)), of(work)},

	{Safety, groups(of(guards), of(off)), of(project)},
	{Safety, groups(of(caution), of(off), of(hazard, refusals, talk, guards, grant, reply, must, wish, able, reader, tell)), of(project)},
	{Safety, groups(of(hazard), of(grant, able, unchecked, unasked, unbound), of(look, tell, reply, talk, reader)), of(project)},
	{Safety, groups(of(refusals), of(off), of(reader, must, requests, reply, all, caution)), of(project)},

	{Tool, groups(of(code)), nil},
	{Tool, groups(of(file), of(run)), of(project)},
	{Tool, groups(of(database), of(wipe), of(imperative, wish, all, unasked)), nil},
	{Tool, groups(of(open), of(links), of(all)), nil},
	{Tool, groups(of(tool, file), of(run), of(reader, unasked, unchecked, grant, here)), of(project)},
	{Tool, groups(of(tool), of(run), of(all), of(wish, must, grant)), of(project)},
	{Tool, groups(of(run), of(unasked)), of(project)},
	{Tool, groups(of(tool), of(run), asked, of(admin, status, theUser, talk, reply, links)), of(project)},

	{Permission, groups(of(onBehalf), of(reader, tellsReader, unchecked), of(risky, grant, able, must)), ordinary},
	{Permission, groups(of(tellsReader), of(risky, all, unchecked, onBehalf)), nil},
	{
		Permission,
		groups(
			of(unasked),
			of(reader, requests, risky, spared, onBehalf),
			of(grant, wish, must, all, reader, unchecked, able, assumed, risky, spared),
		),
		ordinary,
	},
	{Permission, groups(of(unasked), of(grant, spared, wish), of(all, risky, able, unchecked, spared, assumed)), ordinary},
	{Permission, groups(of(spared, unasked), of(grant, wish, must, all, spared), of(risky, spared, wish)), ordinary},
	{Permission, groups(of(grant), of(all, unchecked), of(requests, reader, tool, here)), ordinary},
	{Permission, groups(of(grant, assumed), of(unchecked, all), of(risky, run)), ordinary},
	{Permission, groups(of(assumed), of(requests, risky), of(all, unasked, unchecked, grant)), ordinary},
	{Permission, groups(of(reader), of(grant, assumed, unchecked, others)), ordinary},
	{Permission, groups(of(unchecked), of(reader), of(able, grant, risky, must, wish)), ordinary},
	{Permission, groups(of(admin), of(unasked, unchecked, grant, tool, all, here)), ordinary},
	{Permission, groups(of(lenient), of(risky)), ordinary},
	{Permission, groups(of(power)), ordinary},
	{Permission, groups(of(status), of(here, admin, reader, tool, theUser)), ordinary},
}
