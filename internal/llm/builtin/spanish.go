package builtin

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
	"github.com/stratamem/strata/internal/text"
)

//nolint:misspell // Spanish
var spanishRetelling = retelling{
	clauses: regexp.MustCompile(
		`(?i)[;:]\s|,?\s+(?:pero|aunque|porque|así que|ya que|mientras que|y)\s+(?:yo|me|te|le|se|es|era|fue|eso|mi|mis|tengo|soy|estoy|vivo|trabajo|no|nos|nuestro|nuestra|llevo|voy|quiero|prefiero|uso|usamos|tenemos|hemos|he|desde|mañana|ahora|ya|ella|él|juego|toco|doy|estudio)\s|,\s+(?:pero|aunque|porque|así que|y|ahora|ya no|me|mi|mis|tengo|soy|estoy|vivo|trabajo|llevo|voy|uso|usamos|tenemos|he|hemos|nuestro|nuestra)\s|\s[-–—]+\s|\s\(`,
	),
	opener: regexp.MustCompile(
		`(?i)^(?:(?:hola|buenas|buenos días|buenas tardes|oye|bueno|pues|sí|si,|no,|ah|vale|claro|gracias|muchas gracias|por cierto|además|también|y|pero|aunque|porque|así que|ya que|la verdad es que|la verdad|de hecho|en realidad|sinceramente|para que lo sepas|que sepas que|resulta que|te cuento que|mira|es que|una cosa|por mi parte|yo|encima|al final|total|total que|verás|o sea|eso sí|ojo|acabo de decir que|quería decirte que|perdona(?: [^,]+)?,|perdón(?: [^,]+)?,)(?:[,:;!.\s-]+|$)|[,;:\s–—-]+)*`,
	),
	person: personSpanish,
	quoted: func(clause string) string { return `Dice: «` + clause + `».` },
	stop:   ".",
	names:  true,
	worth:  1,
	topic: regexp.MustCompile(
		`(?i)^(?:mi|nuestro|nuestra|el|la) (?:nuev[oa] |próxim[oa] )?(reunión|fecha de \p{L}+|lanzamiento|entrega|presupuesto|alquiler|sueldo|cita|examen|vuelo|boda|dirección|número de teléfono|teléfono|móvil|coche|oficina|turno|clase|entrevista|presentación|\p{L}+ favorit[oa])(?: \S+){0,3}? (?:es|son|está|será|queda|se ha (?:movido|cambiado)|se movió|pasa|ha pasado|cambió|ha cambiado|sale|empieza|termina) `,
	),
	personal: regexp.MustCompile(
		`(?i)(?:^|[^\p{L}])(?:yo|me|mi|mis|mí|mío|mía|nos|nuestr[oa]s?|conmigo|nosotr[oa]s|soy|estoy|tengo|vivo|trabajo|uso|voy|he|hemos|no (?:puedo|como|bebo|tengo)|\p{L}+(?:amos|emos|imos))(?:[^\p{L}]|$)|^(?:\S+ ){0,2}\p{L}{2,}(?:[oéí])(?:\s|$)`,
	),
	empty: regexp.MustCompile(
		`(?i)(?:^|[^\p{L}])(?:tú|te|ti|tu|tus|usted|contigo|vosotr[oa]s|os)(?:[^\p{L}]|$)|(?:^|\s)(?:eso|esto|aquello|lo mismo|que|de|con|a|en|y)$|^(?:quería|espero|creo|pienso que|sé|siento|estoy (?:muy )?(?:agradecid|content|feliz|orgullos|encantad|deseando|seguro)|me (?:alegr|parece|siento|sentí|imagino|refiero|suena))|^(?:haz|dime|dame|pon|usa|mira|escribe|añade|cambia|explica|traduce|resume)\s`,
	),
	attributes: []property{
		{"name", regexp.MustCompile(`(?i)^soy (?-i:[A-ZÁÉÍÓÚ])\p{Ll}+$`)},
		{"name", regexp.MustCompile(`(?i)^(?:me llamo|mi nombre es)\s`)},
		{"preferred_name", regexp.MustCompile(`(?i)^(?:todos me (?:dicen|llaman)|me (?:dicen|llaman)|puedes llamarme|llámame)\s`)},
		{
			"home_city",
			regexp.MustCompile(
				`(?i)^(?:ahora |ya |ahora ya |actualmente )?(?:vivo|vivimos|estoy viviendo|llevo .{1,20} viviendo|me mudé|me he mudado|nos mudamos|nos hemos mudado|me acabo de mudar|acabo de mudarme)(?: .{1,25}?)?\s(?:en|a)\s`,
			),
		},
		{
			"employer",
			regexp.MustCompile(
				`(?i)^(?:ahora |ya |actualmente )?(?:trabajo (?:en|para)|estoy trabajando (?:en|para)|(?:he empezado|empecé|acabo de empezar)(?: a trabajar)? en|me han? contratado en|entré (?:a trabajar )?en)\s`,
			),
		},
		{
			"job_title",
			regexp.MustCompile(
				`(?i)^(?:ahora )?(?:trabajo (?:como|de)\s|soy (?:\p{L}+ ){0,2}?(?:ingenier|profesor|maestr|enfermer|médic|abogad|arquitect|diseñador|programador|desarrollador|contable|cociner|camarer|fontaner|electricist|periodist|psicólog|farmacéutic|veterinari|dentist|conductor|polic|bomber|carpinter|peluquer|traductor|científic|investigador|analist|consultor|fotógraf|músic|actor|actriz|escritor|estudiante))`,
			),
		},
		{
			"diet",
			regexp.MustCompile(
				`(?i)^(?:ahora |ya )?(?:soy|me he hecho|me hice|me he vuelto) (?:vegan|vegetarian|pesc[eo]tarian|omnívor)|^(?:ahora |vuelvo a |he vuelto a |ya )(?:como|comer) (?:carne|pescado)|^vuelvo a ser (?:vegan|vegetarian|omnívor)`,
			),
		},
		{
			"marital_status",
			regexp.MustCompile(
				`(?i)^(?:ahora |ya )?(?:estoy|soy) (?:casad|divorciad|solter|viud|separad|prometid)|^(?:me casé|me divorcié|me he casado|me he divorciado|me he separado|nos casamos)\b`,
			),
		},
		{"age", regexp.MustCompile(`(?i)^(?:ya )?(?:tengo|cumplí|he cumplido|acabo de cumplir) \S+(?: y \p{L}+)? años\b`)},
		{"wake_up_time", regexp.MustCompile(`(?i)^(?:ahora )?me (?:levanto|despierto) (?:siempre |todos los días )?a las? `)},
		{"car", regexp.MustCompile(`(?i)^(?:ahora )?(?:conduzco|tengo) un (?-i:[A-Z]\p{L}+|coche)`)},
		{"birthday", regexp.MustCompile(`(?i)^mi cumpleaños es\s`)},
	},
}

// esStarts is how statements of the first person begin, which may be too short for the words of their language to show it.
var esStarts = regexp.MustCompile(
	`(?i)^(?:(?:ya |ahora |al final )?(?:(?:me|nos) )?(?:he|hemos) (?:vuelto|\p{L}+(?:ado|ido|cho|sto|rto))|soy|estoy|tengo|vivo|trabajo|uso|hablo|toco|estudio|conduzco|dejé|me llamo|me mudé|ya no|nuestr[oa])(?:\s|[.,!]|$)`,
)

// isSpanish reports whether a sentence is in Spanish.
func isSpanish(sentence string) bool {
	return text.IsSpanish(sentence) || esStarts.MatchString(strings.TrimSpace(sentence))
}

// esThird are verbs of the first person that a clause may begin with, in the third.
//
//nolint:misspell // Spanish
var esThird = pairsOf(
	`soy es estoy está tengo tiene vivo vive trabajo trabaja uso usa prefiero prefiere quiero quiere odio odia juego juega toco toca como come bebo bebe
	leo lee escribo escribe pinto pinta estudio estudia hablo habla conduzco conduce voy va llevo lleva suelo suele pienso piensa busco busca doy da hago hace puedo puede
	necesito necesita colecciono colecciona canto canta corro corre nado nada duermo duerme padezco padece sufro sufre tomo toma dejé dejó nací nació crecí creció
	terminé terminó aprobé aprobó empecé empezó compré compró fui fue corrí corrió gané ganó visité visitó decidí decidió cumplí cumplió abro abre entreno entrena ayudo ayuda
	enseño enseña cuido cuida comparto comparte conozco conoce valoro valora programo programa calzo calza sé sabe soporto soporta desayuno desayuna he ha hemos ha tenemos tiene
	somos es vivimos vive usamos usa trabajamos trabaja desplegamos despliega migramos migró elegimos eligió adoptamos adoptó estamos está vamos va queremos quiere llevamos lleva
	acabo acaba formo forma participo participa salgo sale vengo viene veo ve vendo vende monté montó abrí abrió hice hizo viajé viajó acabé acabó perdí perdió cambié cambió
	aprendo aprende practico practica entro entra me_llamo se_llama cocino cocina compro compra creo cree esperamos espera participé participó publiqué publicó rompí rompió di dio acabamos acaba compramos compra`,
)

func pairsOf(list string) map[string]string {
	words := strings.Fields(list)
	m := map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		m[words[i]] = strings.ReplaceAll(words[i+1], "_", " ")
	}
	return m
}

// esPlural is a verb of the first person plural.
var esPlural = regexp.MustCompile(`(?i)(?:^|[^\p{L}])\p{L}+(?:amos|emos|imos)(?:[^\p{L}]|$)`)

// esThirdOf is the third person of a verb in the first: of those that are listed, and of regular pasts.
func esThirdOf(verb string) (string, bool) {
	if third, ok := esThird[verb]; ok {
		return third, true
	}
	for _, past := range [...][2]string{{"gué", "gó"}, {"qué", "có"}, {"cé", "zó"}, {"é", "ó"}, {"í", "ió"}} {
		if stem, ok := strings.CutSuffix(verb, past[0]); ok && len(stem) > 2 {
			return stem + past[1], true
		}
	}
	return "", false
}

var (
	esLead = regexp.MustCompile(
		`(?i)^(?:(?:ya|no|nunca|siempre|casi|solo|sólo|ahora|hoy|también|tampoco|actualmente|últimamente|además|los|las|el|la|todos?|todas?|cada|en|desde|por|a|al|para|hace|con|después|antes|este|esta|\p{L}+mente|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|día|días|semana|mes|año|años|veranos?|pasad[oa]|que|me|nos|se|le|lo|las|los|de|del|casa|\d+|mayo|abril|marzo|enero|febrero|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|noche|mañana|mañanas|tardes?|noches|fin|finde),?\s+)*`,
	)
	esMy    = regexp.MustCompile(`(?i)^mis? `)
	esFirst = regexp.MustCompile(
		`(?i)(?:^|[^\p{L}])(?:yo|mí|conmigo|nosotros|nosotras|soy|estoy|tengo|vivo|trabajo|somos|tenemos)(?:[^\p{L}]|$)`,
	)
	esOf = strings.NewReplacer(
		" me ",
		" le ",
		" mi ",
		" su ",
		" mis ",
		" sus ",
		" nuestro ",
		" su ",
		" nuestra ",
		" su ",
		" nuestros ",
		" sus ",
		" nuestras ",
		" sus ",
		" conmigo ",
		" con él o ella ",
		" nos ",
		" les ",
	)
	esSelf = wordSet(
		`gusta gustan encanta encantan apasiona interesa interesan preocupa molesta cuesta da dan duele relaja despeja diagnosticaron operaron robaron dieron aceptaron ascendieron despidieron ha han sienta sientan viene han parece dicen llaman ayuda inspira enseñó enseñaron regaló regalaron recetaron prohibió`,
	)
)

// personSpanish is a clause of the first person in the third, where its verb is known: "vivo en Bilbao" is "Vive en Bilbao". A
// clause whose verb is not known is quoted.
func personSpanish(clause string) (string, bool) {
	before := esLead.FindString(clause)
	words := strings.Fields(clause[len(before):])
	if len(words) == 0 {
		return "", false
	}
	verb := strings.ToLower(strings.Trim(words[0], ","))
	third, known := esThirdOf(verb)
	lead := " " + strings.ToLower(before)
	switch {
	case known && (strings.HasSuffix(lead, " me ") || strings.HasSuffix(lead, " nos ")):
		before = before[:len(before)-len(strings.Fields(before)[len(strings.Fields(before))-1])-1] + "se "
	case known:
	case esSelf[verb] && strings.HasSuffix(lead, " me "):
		third = verb
		before = before[:len(before)-len("me ")] + "le "
	case esMy.MatchString(clause),
		!esFirst.MatchString(clause) && !esPlural.MatchString(clause) && !strings.Contains(" "+strings.ToLower(clause), " me "):
		rest := strings.TrimSpace(esOf.Replace(" " + esMy.ReplaceAllString(clause, "su ") + " "))
		return rest, !esFirst.MatchString(rest) && !esPlural.MatchString(rest)
	default:
		return "", false
	}
	rest := third
	if len(words) > 1 {
		rest += esOf.Replace(" " + strings.Join(words[1:], " ") + " ")
	}
	written := strings.TrimSpace(strings.TrimPrefix(esOf.Replace(" "+before), " ") + rest)
	return written, !esFirst.MatchString(written) && !esPlural.MatchString(written)
}
