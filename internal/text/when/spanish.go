package when

// spanishGrammar is Spanish, with accents and without.
func spanishGrammar() grammar {
	return grammar{
		around: `(?i)\b(?:%s)\b`,
		stands: wholeNumber,
		words:  spanishWords(),
		forms:  spanishForms,
		told:   spanishTold,
		beside: spanishBeside,
		decoys: spanishDecoys,
	}
}

func spanishWords() map[string]vocabulary {
	return map[string]vocabulary{
		"offset": spelled(map[int]string{
			-2: "antes de ayer|anteayer|antier", -1: "ayer", 0: "hoy", 1: "mañana|manana", 2: "pasado mañana|pasado manana",
		}),
		"part": spelled(map[int]string{
			dawn: "madrugada", morning: "mañana|manana", afternoon: "tarde", night: "noche",
		}),
		"fused": spelled(map[int]string{nightBeforeLast: "anteanoche|antes de anoche", lastNight: "anoche"}),
		"count": digitsOfCount.or(spelled(map[int]string{
			1:      "un|una",
			2:      "dos",
			3:      "tres",
			4:      "cuatro",
			5:      "cinco",
			6:      "seis",
			7:      "siete",
			8:      "ocho",
			9:      "nueve",
			10:     "diez",
			11:     "once",
			12:     "doce",
			15:     "quince",
			20:     "veinte",
			30:     "treinta",
			couple: "un par de",
			few:    "unos|unas|varios|varias|algunos|algunas|unos pocos|unas pocas",
		})),
		"unit": spelled(map[int]string{
			hourUnit: "horas|hora", dayUnit: "días|día|dias|dia|noches|noche", weekUnit: "semanas|semana", monthUnit: "meses|mes",
			yearUnit: "años|año|anos|ano",
		}),
		"one": spelled(map[int]string{weekUnit: "semana", monthUnit: "mes", yearUnit: "año|ano"}),
		"hours": spelled(map[int]string{
			dawn:      "altas horas de la madrugada|altas horas de la noche|altas horas|de madrugada|madrugada",
			morning:   "mañana|manana",
			afternoon: "tarde",
			night:     "noche",
		}),
		"midday":   spelled(map[int]string{midday: "mediodía|mediodia"}),
		"otherday": spelled(map[int]string{1: "el otro día|el otro dia|la otra noche|hace poco"}),
		"ago":      spelled(map[int]string{1: "hace"}),
		"back":     spelled(map[int]string{1: "atrás|atras"}),
		"ahead":    spelled(map[int]string{1: "dentro de"}),
		"rolling":  spelled(map[int]string{1: "últimos|últimas|ultimos|ultimas|pasados|pasadas"}),
		"latest":   spelled(map[int]string{1: "último|última|ultimo|ultima"}),
		"step": spelled(map[int]string{
			-2: "antepasado|antepasada", -1: "pasado|pasada",
			1: "que viene|próximo|próxima|proximo|proxima",
		}),
		"lead": spelled(map[int]string{-1: "pasado|pasada", 1: "próximo|próxima|proximo|proxima"}),
		"this": spelled(map[int]string{0: "este|esta"}),
		"weeks": spelled(map[int]string{
			-1: "la semana pasada|la pasada semana", 0: "esta semana", 1: "la semana que viene|la próxima semana|la proxima semana",
		}),
		"years": spelled(map[int]string{
			-1: "el año pasado|año pasado|el ano pasado|ano pasado|el pasado año", 0: "este año|este ano",
			1: "el año que viene|año que viene|el próximo año|próximo año",
		}),
		"months": spelled(map[int]string{
			-1: "el mes pasado|del mes pasado|mes pasado", 0: "este mes|de este mes", 1: "el mes que viene|el próximo mes|el proximo mes",
		}),
		"edge":  spelled(map[int]string{0: "principios|comienzos|inicios|principio|comienzo", 1: "mediados", 2: "finales|fines|final"}),
		"about": spelled(map[int]string{1: "alrededor|cerca|hacia|sobre"}),
		"holiday": spelled(map[int]string{
			christmas:    "navidades|navidad",
			christmasEve: "nochebuena",
			newYear:      "año nuevo|ano nuevo",
			newYearsEve:  "nochevieja|fin de año|fin de ano",
			epiphany:     "día de reyes|dia de reyes|reyes magos|reyes",
			valentine:    "san valentín|san valentin",
			easter:       "pascua",
			holyWeek:     "semana santa",
			halloween:    "halloween",
			thanksgiving: "acción de gracias|accion de gracias",
			lunarNewYear: "año nuevo chino|ano nuevo chino|año nuevo lunar",
			childrensDay: "día del niño|dia del niño",
		}),
		"weekend": spelled(map[int]string{1: "fin de semana|finde"}),
		"weekday": listed(0, "lunes", "martes", "miércoles|miercoles", "jueves", "viernes", "sábado|sabado", "domingo"),
		"season":  listed(0, "primavera", "verano", "otoño|otono", "invierno"),
		"month": listed(1, "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",
			"septiembre|setiembre|sept", "octubre", "noviembre", "diciembre"),
		"day":    digitsOfDay,
		"spoken": listed(1, spanishDays...),
		"year":   digitsOfYear,
	}
}

var spanishDays = []string{
	"primero|uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce", "trece", "catorce",
	"quince", "dieciséis|dieciseis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno", "veintidós|veintidos",
	"veintitrés|veintitres", "veinticuatro", "veinticinco", "veintiséis|veintiseis", "veintisiete", "veintiocho",
	"veintinueve", "treinta", "treinta y uno",
}

var spanishForms = []string{
	`{offset}(?: (?:por|a|en|de) la {part})?`,
	`{part:fused}`,
	`{ago:otherday}`,
	`{offset} (?:de |por )?{part:hours}`,
	`esta {part}`,
	`{ago} (?:como |casi |unos |unas )?{count} {unit}`,
	`{count} {unit} {ago:back}`,
	`{ahead} {count} {unit}`,
	`(?:(?:la|el) )?{unit:one} {step}`,
	`(?:el|la) {step:lead} {unit:one}`,
	`{step:this} {unit:one}`,
	`(?:en |durante )?(?:los|las) {rolling} {count} {unit}`,
	`(?:en |durante )?(?:los|las) {count} {rolling} {unit}`,
	`(?:en |durante )?(?:el|la) {rolling:latest} {unit}`,
	`(?:el )?{weekday} {step}`,
	`el {step:lead} {weekday}`,
	`{step:this} {weekday}`,
	`el {weekday}(?: (?:por|en) la {part})?`,
	`(?:el )?{weekday} de {weeks}`,
	`(?:el )?{weekend} {step}`,
	`el {step:lead} {weekend}`,
	`{step:this} {weekend}`,
	`el {weekend}`,
	`(?:en|desde|durante|hasta|hacia|para|antes de|mes de|(?:principios|mediados|finales|fines) de) {month}` +
		`(?:,? (?:(?:de|del) )?(?:año )?{year})?`,
	`{month},? (?:(?:de|del) )?(?:año )?{year}`,
	`(?:en )?{month} (?:del|de) {years}`,
	`{month} {step}`,
	`el {step:lead} {month}`,
	`(?:el )?(?:día |dia )?{day}[oº]? de {month}(?:,? (?:(?:de|del) )?(?:año )?{year})?`,
	`(?:el )?(?:día |dia )?{day}[oº]? de {month} (?:del|de) {years}`,
	`(?:el )?(?:día |dia )?{day:spoken} de {month}(?:,? (?:(?:de|del) )?(?:año )?{year})?`,
	`(?:el |la )?{season} {step}`,
	`(?:el|la) {step:lead} {season}`,
	`{step:this} {season}`,
	`(?:en|durante) (?:el |la )?{season}`,
	`(?:el |la )?{season} (?:de|del) {year}`,
	`(?:el |la )?{season} (?:de|del) {years}`,
	`(?:en|desde|durante|hasta|año|del) (?:el )?(?:año )?{year}`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) (?:mes de )?{month}(?:,? (?:(?:de|del) )?(?:año )?{year})?`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) {months}`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) {unit:one} {step}`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) {step:this} {unit:one}`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) (?:la )?{unit:one}`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) {years}`,
	`(?:a|al|hacia|desde|hasta)? ?{edge} (?:de|del) (?:el |la )?{season}(?: (?:de|del) {year})?`,
	`(?:(?:en|durante|por|para|desde|hasta) )?(?:la |las |el )?{holiday}(?: (?:de|del) {year})?`,
	`(?:la |las |el )?{holiday} {step}`,
	`(?:la |las |el )?{holiday} (?:de|del) {years}`,
	`(?:la |las |el )?{step:lead} {holiday}`,
	`(?:el |del )(?:día |dia ){day}(?: {months}| de {months})?`,
	`(?:el |del ){day}(?: {months}| de {months})`,
	`(?:el |del ){weekday}`,
	`(?:el )?{weekday} (?:por|en) la {part}`,
}

var spanishTold = []string{
	`{weekday}`,
	`el (?:día |dia )?{day}`,
	`{day} de {month}`,
	`(?:este |el |hasta el |para el ){weekday} {day}`,
}

// spanishBeside needs a day beside it: alone it mostly is a habit.
var spanishBeside = []string{
	`(?:(?:por|en|a|durante|de|la|las|el) )*{part:hours}`,
	`(?:(?:a|al|el|de|del) )*{part:midday}`,
	`{about}(?: de)?`,
}

var spanishDecoys = []string{
	`hoy (?:en )?(?:día|dia)`, `hoy por hoy`,
	`(?:por |en )?(?:la|las|una|cada) (?:mañanas?|mananas?)`,
	`el \d{1,2} (?:por ciento|%|de cada|por)`,
	`en (?:\d{4}[.,:]\d{1,9}|\d{4} (?:personas|euros|dólares|pesos|palabras|pasos|kilómetros|metros))`,
}
